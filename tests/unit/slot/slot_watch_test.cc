#include "slot/slot_watch.h"

#include <gtest/gtest.h>

#include "fakes/sizes.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

using testing::kMiB;

// A slot that is confirmed up to 1 MiB, of a server that writes 1 MiB of WAL per sample, waits for
// a standby, and invalidates the slot at 100 MiB.
class SlotWatchTest : public ::testing::Test {
 protected:
  SlotSample Sample(Lsn received = Lsn(kMiB)) {
    now_ += seconds(5);
    wal_end_ += kMiB;
    SlotSample sample{.exists = true,
                      .row = {.active = true,
                              .active_pid = 4711,
                              .restart_lsn = Lsn(kMiB),
                              .confirmed_flush_lsn = Lsn(kMiB),
                              .wal_status = "reserved",
                              .safe_wal_size = static_cast<int64_t>(100 * kMiB - wal_end_)},
                      .wal_end = Lsn(wal_end_),
                      .max_retained_bytes = static_cast<int64_t>(100 * kMiB),
                      .flushed = Lsn(wal_end_),
                      .activity = ReaderActivity{"IPC", "WaitForStandbyConfirmation"}};
    watch_.Add(now_, sample, {4711, received});
    return sample;
  }

  MonoTime now_{seconds(1000)};
  uint64_t wal_end_ = kMiB;
  SlotWatch watch_;
};

TEST_F(SlotWatchTest, FiguresNeedEarlierSamples) {
  EXPECT_EQ(Sample().wal_bytes_per_second, std::nullopt);
  for (int i = 0; i < 60; ++i) {
    Sample();
  }
  const SlotSample sample = Sample();
  EXPECT_NEAR(sample.wal_bytes_per_second.value_or(0), kMiB / 5.0, 1);
  EXPECT_NEAR(sample.confirmed_bytes_per_second.value_or(-1), 0, 1);
  EXPECT_EQ(sample.lag_age, seconds(5 * 61));
  EXPECT_EQ(sample.time_until_caught_up, std::nullopt);
  EXPECT_TRUE(sample.time_to_loss);
  EXPECT_GE(sample.risk, SlotRisk::kNotice);
}

TEST_F(SlotWatchTest, SilenceIsThatOfThisProcess) {
  Sample();
  const SlotSample silent = Sample();
  ASSERT_TRUE(silent.silence);
  EXPECT_EQ(silent.silence->cause, SilenceCause::kStandby);
  EXPECT_EQ(silent.silence->lasted, seconds(5));
  EXPECT_FALSE(Sample(Lsn()).silence);
}

TEST_F(SlotWatchTest, MissingSlotHasNoFigures) {
  Sample();
  SlotSample missing;
  now_ += seconds(5);
  watch_.Add(now_, missing, OwnStream());
  EXPECT_FALSE(missing.lag_age);
  EXPECT_FALSE(missing.silence);
  EXPECT_EQ(missing.risk, SlotRisk::kNone);
}

}  // namespace
}  // namespace walrelay
