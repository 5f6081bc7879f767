#include "txn/slot_alarm.h"

#include <gtest/gtest.h>

#include <set>

#include "support/status_matchers.h"

namespace walrelay {
namespace {

using std::chrono::minutes;

constexpr int64_t kMiB = int64_t{1} << 20;

// A slot that may retain 100 MiB and has used `percent` of them.
SlotSample Used(int percent) {
  return {.exists = true,
          .wal_end = Lsn(1000 * kMiB),
          .confirmed = Lsn(static_cast<uint64_t>((1000 - percent) * kMiB)),
          .restart = Lsn(static_cast<uint64_t>((1000 - percent) * kMiB)),
          .wal_status = "reserved",
          .safe_wal_bytes = (100 - percent) * kMiB,
          .max_retained_bytes = 100 * kMiB};
}
SlotSample Left(Micros time) {
  SlotSample sample = Used(10);
  sample.time_to_loss = time;
  return sample;
}
SlotRisk Judge(const SlotSample& sample) {
  return SlotAlarm().Judge(sample);
}

TEST(SlotAlarmTest, StepsAreReachedByWhatIsUsed) {
  EXPECT_EQ(Judge(Used(0)), SlotRisk::kNone);
  EXPECT_EQ(Judge(Used(49)), SlotRisk::kNone);
  EXPECT_EQ(Judge(Used(50)), SlotRisk::kNotice);
  EXPECT_EQ(Judge(Used(80)), SlotRisk::kWarning);
  EXPECT_EQ(Judge(Used(95)), SlotRisk::kCritical);
  EXPECT_EQ(Judge(Used(100)), SlotRisk::kCritical);
}

TEST(SlotAlarmTest, StepsAreReachedByTheTimeLeft) {
  EXPECT_EQ(Judge(Left(minutes(61))), SlotRisk::kNone);
  EXPECT_EQ(Judge(Left(minutes(59))), SlotRisk::kWarning);
  EXPECT_EQ(Judge(Left(minutes(9))), SlotRisk::kCritical);
}

TEST(SlotAlarmTest, ServerHasTheLastWord) {
  SlotSample sample = Used(10);
  sample.wal_status = "unreserved";
  EXPECT_EQ(Judge(sample), SlotRisk::kCritical);
  sample.wal_status = "lost";
  EXPECT_EQ(Judge(sample), SlotRisk::kLost);
  sample.wal_status = "reserved";
  sample.invalidation_reason = "idle_timeout";
  EXPECT_EQ(Judge(sample), SlotRisk::kLost);
}

TEST(SlotAlarmTest, WithoutALimitNothingIsUsedUp) {
  SlotSample sample = Used(99);
  sample.safe_wal_bytes.reset();
  EXPECT_EQ(Judge(sample), SlotRisk::kNone);
}

TEST(SlotAlarmTest, NoSlotIsAtNoRisk) {
  EXPECT_EQ(Judge(SlotSample()), SlotRisk::kNone);
}

TEST(SlotAlarmTest, StepIsLeftOnlyWellBelow) {
  SlotAlarm alarm;
  EXPECT_EQ(alarm.Judge(Used(80)), SlotRisk::kWarning);
  EXPECT_EQ(alarm.Judge(Used(76)), SlotRisk::kWarning);
  EXPECT_EQ(alarm.Judge(Used(74)), SlotRisk::kNotice);
  EXPECT_EQ(alarm.Judge(Used(79)), SlotRisk::kNotice);
  EXPECT_EQ(alarm.Judge(Left(minutes(59))), SlotRisk::kWarning);
  EXPECT_EQ(alarm.Judge(Left(minutes(119))), SlotRisk::kWarning);
  EXPECT_EQ(alarm.Judge(Left(minutes(121))), SlotRisk::kNone);
}

TEST(SlotAlarmTest, NamesDiffer) {
  std::set<std::string_view> names;
  for (const SlotRisk risk : {SlotRisk::kNone, SlotRisk::kNotice, SlotRisk::kWarning,
                              SlotRisk::kCritical, SlotRisk::kLost}) {
    EXPECT_TRUE(names.insert(NameOf(risk)).second);
  }
}

SlotSample Judged(SlotSample sample) {
  sample.risk = Judge(sample);
  return sample;
}

TEST(RiskTest, IsSaidWithFigures) {
  EXPECT_THAT(RiskOf(Judged(Used(50))), IsOk());
  SlotSample sample = Used(80);
  sample.time_to_loss = minutes(25);
  EXPECT_THAT(RiskOf(Judged(sample)),
              HasError(ErrorCode::kSlotAtRisk,
                       "80.0 MiB of log retained, 20.0 MiB left, enough for 25m00s"));
}

TEST(RiskTest, ReserveThatIsOverdrawnIsNothing) {
  SlotSample sample = Used(95);
  sample.safe_wal_bytes = -7;
  sample.wal_status = "unreserved";
  EXPECT_THAT(RiskOf(Judged(sample)), HasError(ErrorCode::kSlotAtRisk, "0 B left"));
  EXPECT_THAT(RiskOf(Judged(sample)), HasError(ErrorCode::kSlotAtRisk, "next checkpoint"));
}

TEST(RiskTest, LostSlotIsTheErrorThatTheRelayEndsWith) {
  SlotSample sample = Used(10);
  sample.wal_status = "lost";
  EXPECT_THAT(RiskOf(Judged(sample)), HasError(ErrorCode::kSlotLost, "wal_status is lost"));
  sample.invalidation_reason = "wal_removed";
  EXPECT_THAT(RiskOf(Judged(sample)), HasError(ErrorCode::kSlotLost, "wal_removed"));
}

}  // namespace
}  // namespace walrelay
