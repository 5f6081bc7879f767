#include "outbox/table_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::minutes;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// 200 MiB with 100,000 rows of 100 bytes.
class TableHealthTest : public ::testing::Test {
 protected:
  TableHealthTest() {
    table_ = {.schema = "public",
              .name = "outbox",
              .sql_name = "\"public\".\"outbox\"",
              .taken = WallTime(minutes(1000)),
              .size = {.heap_bytes = 200 * kMebibyte, .row_bytes = 100},
              .rows = RowCount{.rows = 100'000}};
  }
  TableReading table_;
};

TEST_F(TableHealthTest, WhatHoldsNoRowIsWasted) {
  EXPECT_THAT(WastedBytes(table_), Optional(200 * kMebibyte - 10'000'000));
  table_.rows->rows = 10'000'000;
  EXPECT_THAT(WastedBytes(table_), Optional(0));
}

TEST_F(TableHealthTest, WasteIsUnknownWithoutRowsOrTheirSizeAndOfPartitions) {
  TableReading other = table_;
  other.rows.reset();
  EXPECT_THAT(WastedBytes(other), Eq(std::nullopt));
  other = table_;
  other.size.row_bytes.reset();
  EXPECT_THAT(WastedBytes(other), Eq(std::nullopt));
  other = table_;
  other.size.partitions = 2;
  EXPECT_THAT(WastedBytes(other), Eq(std::nullopt));
}

TEST_F(TableHealthTest, ALargeHeapThatIsMostlyEmptyIsAProblem) {
  ASSERT_TRUE(BloatProblem(table_).has_value());
  EXPECT_THAT(BloatProblem(table_)->text, HasSubstr("public.outbox"));
  EXPECT_THAT(BloatProblem(table_)->remedy,
              HasSubstr("VACUUM (FULL, ANALYZE) \"public\".\"outbox\";"));
  table_.rows->rows = 1'000'000;
  EXPECT_THAT(BloatProblem(table_), Eq(std::nullopt));
}

TEST_F(TableHealthTest, ASmallHeapIsNoProblem) {
  table_.size.heap_bytes = 100 * kMebibyte;
  EXPECT_THAT(BloatProblem(table_), Eq(std::nullopt));
}

TEST_F(TableHealthTest, MoreDeadRowsThanLiveOnesAreAProblem) {
  table_.size.dead_rows = 100'001;
  ASSERT_TRUE(DeadRowsProblem(table_).has_value());
  EXPECT_THAT(DeadRowsProblem(table_)->text, HasSubstr("100001 dead rows; no vacuum is known"));
  EXPECT_THAT(DeadRowsProblem(table_)->remedy, HasSubstr("\"public\".\"outbox\""));
  table_.size.dead_rows = 100'000;
  EXPECT_THAT(DeadRowsProblem(table_), Eq(std::nullopt));
}

TEST_F(TableHealthTest, AllProblemsAreListed) {
  EXPECT_EQ(ProblemsOf(table_).size(), 1u);
  table_.size.dead_rows = 100'001;
  EXPECT_EQ(ProblemsOf(table_).size(), 2u);
  table_.rows->rows = 1'000'000;
  EXPECT_TRUE(ProblemsOf(table_).empty());
}

TEST_F(TableHealthTest, AutovacuumHasTimeToRun) {
  table_.size.dead_rows = 200'000;
  table_.size.vacuumed = table_.taken - minutes(9);
  EXPECT_THAT(DeadRowsProblem(table_), Eq(std::nullopt));
  table_.size.vacuumed = table_.taken - minutes(10);
  ASSERT_TRUE(DeadRowsProblem(table_).has_value());
  EXPECT_THAT(DeadRowsProblem(table_)->text, HasSubstr("the last vacuum was 10 min ago"));
}

TEST_F(TableHealthTest, AFewDeadRowsAreNoProblem) {
  table_.rows.reset();
  table_.size.dead_rows = 9'999;
  EXPECT_THAT(DeadRowsProblem(table_), Eq(std::nullopt));
  table_.size.dead_rows = 10'000;
  EXPECT_TRUE(DeadRowsProblem(table_).has_value());
}

}  // namespace
}  // namespace walrelay
