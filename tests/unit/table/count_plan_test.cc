#include "table/count_plan.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

constexpr int kPostgres13 = 130022;
constexpr int kPostgres14 = 140000;
const RowClasses kBehind = {.unpublished_from = 900};

TableSize Large(int partitions = 0) {
  return {.partitions = partitions, .heap_bytes = kMostReadBytes + 1};
}

TEST(CountPlanTest, ASmallTableIsReadAsAWhole) {
  const TableSize small{.heap_bytes = kMostReadBytes};
  EXPECT_EQ(ScopeOf(small, {.all_published = true}, kPostgres13), CountScope::kAll);
  EXPECT_EQ(ScopeOf(small, kBehind, kPostgres13), CountScope::kAll);
  EXPECT_EQ(ScopeOf(small, {}, kPostgres14), CountScope::kAll);
}

TEST(CountPlanTest, OfALargeTableTheEndIsReadWhileRowsAreUnpublished) {
  EXPECT_EQ(ScopeOf(Large(), kBehind, kPostgres14), CountScope::kEnd);
  RowClasses published = kBehind;
  published.all_published = true;
  EXPECT_EQ(ScopeOf(Large(), published, kPostgres14), CountScope::kNothing);
  EXPECT_EQ(ScopeOf(Large(), {}, kPostgres14), CountScope::kNothing);
}

TEST(CountPlanTest, NothingIsReadIfTheEndCannotBeReadAlone) {
  EXPECT_EQ(ScopeOf(Large(), kBehind, kPostgres13), CountScope::kNothing);
  EXPECT_EQ(ScopeOf(Large(2), kBehind, kPostgres14), CountScope::kNothing);
}

TEST(CountPlanTest, TheTimeColumnHasATimeZoneAndIsNeverNull) {
  TableInfo table;
  EXPECT_EQ(TimeColumnOf(table), "");
  table.columns = {{.name = "id", .not_null = true, .type_name = "uuid"},
                   {.name = "published_at", .type_name = "timestamptz"},
                   {.name = "local", .not_null = true, .type_name = "timestamp"}};
  EXPECT_EQ(TimeColumnOf(table), "");
  table.columns.push_back({.name = "Created", .not_null = true, .type_name = "timestamptz"});
  table.columns.push_back({.name = "later", .not_null = true, .type_name = "timestamptz"});
  EXPECT_EQ(TimeColumnOf(table), "Created");
}

}  // namespace
}  // namespace walrelay
