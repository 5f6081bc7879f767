#include "republish/letter_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "route/message_row.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::Eq;
using ::testing::Optional;

class LetterRowTest : public ::testing::Test {
 protected:
  LetterRowTest() {
    letter_.schema = "public";
    letter_.table = "outbox";
    letter_.columns = {{.name = "id", .type_oid = 20, .value = "7"},
                       {.name = "amount", .type_oid = 1700, .value = "1.50"}};
    table_ = {.oid = 16385,
              .schema = "public",
              .name = "outbox",
              .columns = {{"id", 20}, {"amount", 1700, 655366}}};
  }

  absl::StatusOr<pgoutput::CachedRelation> Relation() {
    const TableInfo info{.schema = "public", .name = "outbox", .oid = 16385};
    return RelationOf(letter_, config_.source, {{&info, 1}, {&table_, 1}});
  }

  Config config_;
  StoredDeadLetter letter_;
  pgoutput::CachedRelation table_;
};

TEST_F(LetterRowTest, UnchangedTableKeepsTheModifiersOfItsTypes) {
  const auto relation = Relation();
  ASSERT_THAT(relation, IsOk());
  EXPECT_EQ(relation->oid, 16385U);
  EXPECT_EQ(relation->columns[1].type_modifier, 655366);
}

TEST_F(LetterRowTest, AlteredTableHasTheColumnsOfTheLetter) {
  table_.columns.push_back({"note", 25});
  const auto relation = Relation();
  ASSERT_THAT(relation, IsOk());
  EXPECT_EQ(relation->oid, 16385U);
  EXPECT_EQ(relation->columns.size(), 2U);
  EXPECT_EQ(relation->columns[1].type_modifier, -1);
}

TEST_F(LetterRowTest, TableOfAnotherConfigurationIsRefused) {
  letter_.table = "other";
  EXPECT_THAT(Relation(), HasError(ErrorCode::kTableMissing, "public.other"));
}

TEST_F(LetterRowTest, MessageIsRoutedAsAMessage) {
  letter_.schema = "pg_logical_emit_message";
  letter_.table = "outbox";
  EXPECT_THAT(Relation(), HasError(ErrorCode::kTableMissing)) << "messages are no events";
  config_.source.message_prefixes = {"outbox"};
  EXPECT_EQ(Relation()->oid, kMessageRelation);
}

TEST_F(LetterRowTest, TruncatedOrTransformedRowsAreIncomplete) {
  EXPECT_FALSE(IsIncomplete(letter_, config_.source));
  letter_.columns[1].cut_from = 100;
  EXPECT_TRUE(IsIncomplete(letter_, config_.source));
  letter_.columns[1].cut_from = 0;
  config_.source.tables[0].transforms = {{.column = "amount"}};
  EXPECT_TRUE(IsIncomplete(letter_, config_.source));
}

TEST_F(LetterRowTest, IdIsThatOfTheMappedColumnIfItIsWhole) {
  EXPECT_THAT(RowIdOf(letter_, config_.source), Optional(std::string("7")));
  letter_.columns[0].cut_from = 5;
  EXPECT_THAT(RowIdOf(letter_, config_.source), Eq(std::nullopt));
  letter_.columns[0] = {.name = "id", .value = std::nullopt};
  EXPECT_THAT(RowIdOf(letter_, config_.source), Eq(std::nullopt));
  config_.source.tables[0].columns.id = ColumnNames(std::vector<std::string>{"event", "amount"});
  EXPECT_THAT(RowIdOf(letter_, config_.source), Optional(std::string("1.50")));
  config_.source.tables[0].columns.id = "amount";
  EXPECT_THAT(RowIdOf(letter_, config_.source), Optional(std::string("1.50")));
  letter_.columns[1].binary = true;
  EXPECT_THAT(RowIdOf(letter_, config_.source), Eq(std::nullopt));
  letter_.columns[1].type_oid = 23;  // int4
  letter_.columns[1].value = std::string("\0\0\1\0", 4);
  EXPECT_THAT(RowIdOf(letter_, config_.source), Optional(std::string("256")));
}

TEST_F(LetterRowTest, ValuesAreThoseOfTheLetter) {
  letter_.columns[0].value.reset();
  letter_.columns[1].binary = true;
  const auto values = ValuesOf(letter_);
  ASSERT_EQ(values.size(), 2U);
  EXPECT_TRUE(values[0].is_null());
  EXPECT_EQ(values[1].kind, pgoutput::TupleValue::Kind::kBinary);
  EXPECT_EQ(values[1].bytes, "1.50");
}

}  // namespace
}  // namespace walrelay
