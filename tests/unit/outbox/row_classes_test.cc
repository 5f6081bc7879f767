#include "outbox/row_classes.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

class RowClassesTest : public ::testing::Test {
 protected:
  RowClassesTest() {
    proof_ = {
        .system_id = "7301",
        .timeline = 1,
        .frontier = Lsn(500),
        .horizons = {{.xid = 800, .insert_lsn = Lsn(300)}, {.xid = 900, .insert_lsn = Lsn(400)}},
        .published_from = {.xid = 650}};
    reading_ = {.horizon = {.xid = 950, .insert_lsn = Lsn(600)},
                .next = {.xid = 1000},
                .system_id = "7301",
                .timeline = 1};
  }
  RowClasses Classes() const { return RowClassesOf(proof_, reading_); }

  Progress proof_;
  XidReading reading_;
};

TEST_F(RowClassesTest, TheNewestHorizonDividesTheRows) {
  EXPECT_EQ(Classes(), (RowClasses{.unpublished_from = 900, .unproven_before = 650}));
}

TEST_F(RowClassesTest, AllArePublishedOnceTheFrontierHasPassedTheReading) {
  proof_.frontier = Lsn(600);
  EXPECT_TRUE(Classes().all_published);
  proof_.frontier = Lsn(599);
  EXPECT_FALSE(Classes().all_published);
}

// A transaction that had begun before the relay's first reading was open at its horizon.
TEST_F(RowClassesTest, NoRowIsBothUnpublishedAndUnproven) {
  proof_.published_from.xid = 920;
  EXPECT_EQ(Classes().unpublished_from, 900u);
  EXPECT_EQ(Classes().unproven_before, 900u);
}

TEST_F(RowClassesTest, AnotherServerOrTimelineProvesNothing) {
  proof_.frontier = Lsn(600);
  reading_.timeline = 2;
  EXPECT_EQ(Classes(), RowClasses());
  reading_.timeline = 1;
  reading_.system_id = "7302";
  EXPECT_EQ(Classes(), RowClasses());
}

TEST_F(RowClassesTest, WithoutAHorizonOnlyThePositionCounts) {
  proof_.horizons.clear();
  EXPECT_EQ(Classes(), RowClasses());
  proof_.frontier = Lsn(600);
  EXPECT_EQ(Classes(), RowClasses{.all_published = true});
}

TEST_F(RowClassesTest, WithoutABeginningOnlyThePositionCounts) {
  proof_.published_from = {};
  EXPECT_EQ(Classes(), RowClasses());
}

// An xmin of 32 bits cannot be compared with them.
TEST_F(RowClassesTest, BoundsThatAreTooOldAreUnknown) {
  reading_.next.xid = 900 + (uint64_t{1} << 31);
  EXPECT_EQ(Classes(), RowClasses());
  reading_.next.xid -= 1;
  EXPECT_EQ(Classes(), (RowClasses{.unpublished_from = 900}));
}

// After a crash the server assigns xids again: the horizon is of another history.
TEST_F(RowClassesTest, AHorizonOfTheFutureIsUnknown) {
  reading_.next.xid = 899;
  EXPECT_EQ(Classes(), (RowClasses{.unproven_before = 650}));
}

}  // namespace
}  // namespace walrelay
