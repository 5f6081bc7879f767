#include "stream/xid_snapshot.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

constexpr uint64_t kSecondEpoch = uint64_t{1} << 32;

TEST(XidSnapshotTest, TransactionHasEndedBelowXmaxUnlessItIsInProgress) {
  const XidSnapshot snapshot{.xmin = 700, .xmax = 710, .in_progress = {700, 705}};
  EXPECT_TRUE(HasEnded(snapshot, 699));
  EXPECT_FALSE(HasEnded(snapshot, 700));
  EXPECT_TRUE(HasEnded(snapshot, 704));
  EXPECT_FALSE(HasEnded(snapshot, 705));
  EXPECT_TRUE(HasEnded(snapshot, 709));
  EXPECT_FALSE(HasEnded(snapshot, 710));
  EXPECT_FALSE(HasEnded(snapshot, 711));
}

TEST(XidSnapshotTest, LaterEpochsAreComparedByTheLowBits) {
  const XidSnapshot snapshot{.xmin = 5 * kSecondEpoch + 700,
                             .xmax = 5 * kSecondEpoch + 710,
                             .in_progress = {5 * kSecondEpoch + 700}};
  EXPECT_TRUE(HasEnded(snapshot, 699));
  EXPECT_FALSE(HasEnded(snapshot, 700));
  EXPECT_TRUE(HasEnded(snapshot, 709));
  EXPECT_FALSE(HasEnded(snapshot, 710));
}

TEST(XidSnapshotTest, XidsWrapAround) {
  const XidSnapshot snapshot{.xmin = kSecondEpoch - 5,
                             .xmax = kSecondEpoch + 10,
                             .in_progress = {kSecondEpoch - 5, kSecondEpoch + 4}};
  EXPECT_TRUE(HasEnded(snapshot, UINT32_MAX - 5));   // kSecondEpoch - 6
  EXPECT_FALSE(HasEnded(snapshot, UINT32_MAX - 4));  // kSecondEpoch - 5
  EXPECT_TRUE(HasEnded(snapshot, UINT32_MAX));
  EXPECT_TRUE(HasEnded(snapshot, 3));
  EXPECT_FALSE(HasEnded(snapshot, 4));
  EXPECT_FALSE(HasEnded(snapshot, 10));

  const XidSnapshot before{.xmin = kSecondEpoch - 5, .xmax = kSecondEpoch - 5, .in_progress = {}};
  EXPECT_TRUE(HasEnded(before, UINT32_MAX - 5));
  EXPECT_FALSE(HasEnded(before, 3)) << "the xid belongs to the next epoch";
}

TEST(XidSnapshotTest, XidBeforeTheFirstEpochHasNotEnded) {
  EXPECT_FALSE(HasEnded({.xmin = 700, .xmax = 700, .in_progress = {}}, UINT32_MAX));
}

TEST(XidSnapshotTest, PostgresSnapshotTextIsParsed) {
  const auto snapshot = ParseSnapshot("733:740:733,736,739");
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->xmin, 733u);
  EXPECT_EQ(snapshot->xmax, 740u);
  EXPECT_EQ(snapshot->in_progress, (std::vector<uint64_t>{733, 736, 739}));

  const auto empty = ParseSnapshot("18446744073709551610:18446744073709551610:");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->xmax, 18446744073709551610u);
  EXPECT_TRUE(empty->in_progress.empty());
}

TEST(XidSnapshotTest, InvalidTextIsRejected) {
  for (const char* text : {"",
                           ":",
                           "::",
                           "7",
                           "7:",
                           "7:9",
                           ":9:",
                           "7::",
                           "9:7:",
                           "7:9:7,",
                           "7:9:,7",
                           "7:9:6",
                           "7:9:9",
                           "7:9:8,7",
                           "7:9:8,8",
                           "7:9:7 8",
                           "7:9:7:8",
                           "7:9:x",
                           "-7:9:",
                           "7:+9:",
                           " 7:9:",
                           "7:9: ",
                           "18446744073709551616:18446744073709551617:"}) {
    EXPECT_FALSE(ParseSnapshot(text)) << text;
  }
}

}  // namespace
}  // namespace walrelay
