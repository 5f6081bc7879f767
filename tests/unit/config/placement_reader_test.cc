// The tables of [[source.placement]] and their errors, through the loader.
#include "config/placement_reader.h"

#include <gtest/gtest.h>

#include "fakes/config_fixture.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

class PlacementReaderTest : public testing::ConfigFixture {};

TEST_F(PlacementReaderTest, PlacementsHaveColumnTargetAndName) {
  const Config config = Load(R"toml(
    [[source.placement]]
    column = "tenant"
    to = "header"
    as = "tenant-id"
    [[source.placement]]
    column = "region"
    [[source.placement]]
    column = "shard"
    to = "partition"
  )toml");
  const auto& placements = config.source.tables[0].placements;
  ASSERT_EQ(placements.size(), 3u);
  EXPECT_EQ(placements[0].column, "tenant");
  EXPECT_EQ(placements[0].name, "tenant-id");
  EXPECT_EQ(placements[0].where, Placement::Where::kHeader);
  EXPECT_EQ(placements[1].name, "region");
  EXPECT_EQ(placements[1].where, Placement::Where::kHeader);
  EXPECT_EQ(placements[2].where, Placement::Where::kPartition);
}

TEST_F(PlacementReaderTest, NameIsThePreferredOneOfTheColumn) {
  const auto placement =
      Load("[[source.placement]]\ncolumn = ['tenant', 'client']\n").source.tables[0].placements[0];
  EXPECT_EQ(placement.name, "tenant");
  EXPECT_EQ(placement.column, ColumnNames(std::vector<std::string>{"tenant", "client"}));
  ExpectBadValue("[[source.placement]]\ncolumn = ['a', 'a']\n", "list of distinct names");
}

TEST_F(PlacementReaderTest, InvalidPlacementsAreReported) {
  ExpectBadValue("[[source.placement]]\nto = 'header'\n",
                 "walrelay.toml:1:1: source.placement: a placement requires a column");
  ExpectBadValue("[[source.placement]]\ncolumn = ''\n",
                 "walrelay.toml:2:10: source.placement.column: expected a name");
  ExpectBadValue("[[source.placement]]\ncolumn = 1\n", "expected a name");
  ExpectBadValue("[[source.placement]]\ncolumn = 'a'\nto = 'body'\n",
                 "\"envelope\" or \"partition\"");
  ExpectBadValue("[[source.placement]]\ncolumn = 'a'\nas = ''\n", "expected a name");
}

}  // namespace
}  // namespace walrelay
