#include "slot/wal_retention_limit.h"

#include <gtest/gtest.h>

#include "fakes/sizes.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using testing::kMiB;

// A slot that retains 100 MiB, which is the limit.
class RetainedLimitTest : public ::testing::Test {
 protected:
  RetainedLimitTest() {
    source_.max_retained_wal = 100 * kMiB;
    source_.on_retained_limit = OnRetainedLimit::kDropSlot;
  }
  bool Drops() const { return MustDropSlot(source_, server_, slot_); }

  SourceConfig source_;
  ServerInfo server_{.wal_end = Lsn(1000 * kMiB)};
  SlotInfo slot_{.restart_lsn = Lsn(900 * kMiB),
                 .confirmed_flush_lsn = Lsn(950 * kMiB),
                 .wal_status = "extended"};
};

TEST_F(RetainedLimitTest, SlotIsDroppedAtTheLimit) {
  EXPECT_TRUE(Drops());
  slot_.restart_lsn = Lsn(slot_.restart_lsn.value() + 1);
  EXPECT_FALSE(Drops());
  slot_.restart_lsn = Lsn(1);
  EXPECT_TRUE(Drops());
}

TEST_F(RetainedLimitTest, SlotIsDroppedOnlyByName) {
  source_.on_retained_limit = OnRetainedLimit::kAlert;
  EXPECT_FALSE(Drops());
  EXPECT_FALSE(WalRetentionLimitOf(source_)->drop_slot);
  source_ = SourceConfig();
  EXPECT_FALSE(Drops());
  EXPECT_FALSE(WalRetentionLimitOf(source_));
  source_.on_retained_limit = OnRetainedLimit::kDropSlot;
  EXPECT_FALSE(Drops());
}

TEST_F(RetainedLimitTest, SlotInUseIsNotDropped) {
  slot_.active = true;
  EXPECT_FALSE(Drops());
  slot_.active = false;
  slot_.temporary = true;
  EXPECT_FALSE(Drops());
  slot_.temporary = false;
  server_.in_recovery = true;
  EXPECT_FALSE(Drops());
}

// A promoted server keeps the mark, and the slot is the relay's from then on.
TEST_F(RetainedLimitTest, SynchronizedSlotIsDroppedOnlyOnAPrimary) {
  slot_.synced = true;
  server_.in_recovery = true;
  EXPECT_FALSE(Drops());
  server_.in_recovery = false;
  EXPECT_TRUE(Drops());
}

TEST_F(RetainedLimitTest, SlotThatRetainsNoWalIsNotDropped) {
  const SlotInfo whole = slot_;
  slot_.restart_lsn = Lsn();
  EXPECT_FALSE(Drops());
  slot_ = whole;
  slot_.wal_status = "lost";
  EXPECT_FALSE(Drops());
  slot_ = whole;
  slot_.invalidation_reason = "idle_timeout";
  EXPECT_FALSE(Drops());
  slot_ = whole;
  EXPECT_TRUE(Drops());
}

TEST_F(RetainedLimitTest, DropIsReportedWithFigures) {
  source_.slot = "orders";
  EXPECT_THAT(
      SlotDropped(source_, server_, slot_, std::nullopt),
      HasError(ErrorCode::kSlotDropped,
               "slot orders retained 100.0 MiB of WAL, and source.max_retained_wal is 100.0 "
               "MiB; everything up to 0/3B600000 was published"));
  EXPECT_THAT(SlotDropped(source_, server_, slot_, WallTime(std::chrono::hours(24))),
              HasError(ErrorCode::kSlotDropped, "committed at 1970-01-02T00:00:00"));
  EXPECT_EQ(ExitCodeFor(SlotDropped(source_, server_, slot_, std::nullopt)), ExitCode::kGap);
}

}  // namespace
}  // namespace walrelay
