#include "outbox/table_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "outbox/count_plan.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::minutes;
using ::testing::HasSubstr;

class TableWordsTest : public ::testing::Test {
 protected:
  TableWordsTest() {
    table_ = {.schema = "public",
              .name = "outbox",
              .taken = WallTime(minutes(1000)),
              .size = {.heap_bytes = 40'960, .total_bytes = 65'536, .dead_rows = 31},
              .rows = RowCount{.rows = 812},
              .unpublished = RowCount()};
  }
  TableReading table_;
};

TEST_F(TableWordsTest, NothingWaits) {
  EXPECT_EQ(RowsWords(table_), "public.outbox: 812 rows, none waits to be published");
}

TEST_F(TableWordsTest, TheBoundIsNamed) {
  table_.rows = {.rows = 1, .bound = RowBound::kEstimate};
  table_.unpublished = {.rows = 12, .bound = RowBound::kAtMost};
  EXPECT_EQ(RowsWords(table_), "public.outbox: about 1 row, at most 12 not published");
  table_.unpublished->bound = RowBound::kAtLeast;
  table_.oldest_unpublished = minutes(3);
  EXPECT_EQ(RowsWords(table_),
            "public.outbox: about 1 row, at least 12 not published, the oldest for 3 min");
}

TEST_F(TableWordsTest, RowsOfOtherOriginsAreNamedIfTheyAreCounted) {
  table_.counts_origins = true;
  EXPECT_EQ(RowsWords(table_), "public.outbox: 812 rows, none waits to be published");
  table_.unpublished = {.rows = 12, .bound = RowBound::kEstimate};
  EXPECT_EQ(RowsWords(table_),
            "public.outbox: 812 rows, about 12 not published, rows of other origins among them");
}

TEST_F(TableWordsTest, RowsFromBeforeTheSlotAreNamed) {
  table_.unproven = RowCount{.rows = 0};
  EXPECT_EQ(RowsWords(table_), "public.outbox: 812 rows, none waits to be published");
  table_.unproven->rows = 7;
  EXPECT_THAT(RowsWords(table_), HasSubstr("; 7 rows from before the slot"));
}

TEST_F(TableWordsTest, RowsThatAreInNoStreamAreNamed) {
  table_.unsent = RowCount{.rows = 0};
  EXPECT_EQ(RowsWords(table_), "public.outbox: 812 rows, none waits to be published");
  table_.unsent->rows = 10;
  EXPECT_THAT(RowsWords(table_), HasSubstr("; 10 rows in parts of the table that are not in the "
                                           "stream"));
}

TEST_F(TableWordsTest, TheReasonIsNamedIfNothingIsKnown) {
  table_.unpublished.reset();
  EXPECT_THAT(RowsWords(table_), HasSubstr("unknown: nothing proves what is published"));
  table_.size.heap_bytes = kMostReadBytes + 1;
  EXPECT_THAT(RowsWords(table_), HasSubstr("unknown: the table is too large to be read"));
  table_.unread = RowsUnread::kNoSelect;
  EXPECT_THAT(RowsWords(table_), HasSubstr("unknown: the role may not read the table"));
  table_.unread = RowsUnread::kPolicy;
  EXPECT_THAT(RowsWords(table_), HasSubstr("unknown: row-level security"));
  table_.unread = RowsUnread::kFailed;
  table_.failure = Error(ErrorCode::kPostgresError, "cancelled");
  EXPECT_THAT(RowsWords(table_), HasSubstr("unknown: the count failed: cancelled"));
}

TEST_F(TableWordsTest, Size) {
  EXPECT_EQ(SizeWords(table_), "64.0 KiB with indexes, 31 dead rows, no vacuum is known");
  table_.size.partitions = 3;
  table_.size.vacuumed = table_.taken - minutes(3);
  EXPECT_EQ(SizeWords(table_),
            "64.0 KiB with indexes in 3 partitions, 31 dead rows, last vacuum 3 min ago");
}

}  // namespace
}  // namespace walrelay
