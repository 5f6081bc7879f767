#include "stream/row_marks.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

constexpr size_t kMarks = 16;

Position Row(uint64_t number) {
  return {Lsn(1000), Lsn(10 * number), 1};
}

TEST(RowMarksTest, AFewRecordsAreFoundExactly) {
  RowMarks marks(kMarks);
  for (uint64_t number = 1; number <= kMarks; ++number) {
    marks.Add(7, number, Row(number));
  }
  for (uint64_t number = 1; number <= kMarks; ++number) {
    EXPECT_EQ(marks.Find(7, number), Row(number));
  }
}

TEST(RowMarksTest, WhatIsNotMarkedIsNotFound) {
  RowMarks marks(kMarks);
  EXPECT_EQ(marks.Find(7, 1), std::nullopt);
  marks.Add(7, 3, Row(3));
  EXPECT_EQ(marks.Find(7, 2), std::nullopt);
  EXPECT_EQ(marks.Find(6, 3), std::nullopt);
  EXPECT_EQ(marks.Find(8, 3), std::nullopt);
  EXPECT_EQ(marks.Find(7, 4), Row(3));
}

TEST(RowMarksTest, ManyRecordsTakeBoundedMemoryAndAreNeverFoundTooLate) {
  RowMarks marks(kMarks);
  constexpr uint64_t kRecords = 100'000;
  for (uint64_t number = 1; number <= kRecords; ++number) {
    marks.Add(7, number, Row(number));
    ASSERT_LE(marks.size(), kMarks);
    ASSERT_EQ(marks.Find(7, number), Row(number));  // the last one is marked
  }
  for (uint64_t number = 1; number <= kRecords; number += 997) {
    const auto found = marks.Find(7, number);
    ASSERT_TRUE(found.has_value());
    EXPECT_LE(*found, Row(number));
  }
  EXPECT_EQ(marks.Find(7, 1), Row(1));
}

TEST(RowMarksTest, TransactionsThatAreForgottenMakeRoom) {
  RowMarks marks(kMarks);
  for (uint64_t transaction = 1; transaction <= 100; ++transaction) {
    marks.Add(transaction, 1, Row(transaction));
    marks.ForgetBefore(transaction);
    EXPECT_EQ(marks.size(), 1u);
  }
  EXPECT_EQ(marks.Find(99, 1), std::nullopt);
  EXPECT_EQ(marks.Find(100, 1), Row(100));
  marks.Clear();
  EXPECT_EQ(marks.Find(100, 1), std::nullopt);
}

TEST(RowMarksDeathTest, RecordsAreMarkedInOrder) {
  RowMarks marks(kMarks);
  marks.Add(7, 3, Row(3));
  EXPECT_DEATH(marks.Add(7, 3, Row(3)), "in the order");
  EXPECT_DEATH(marks.Add(6, 4, Row(4)), "in the order");
}

}  // namespace
}  // namespace walrelay
