#include "slot/slot_alarm.h"

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

TEST(SlotAlarmTest, RiskFollowsTheUsedShare) {
  EXPECT_EQ(Judge(Used(0)), SlotRisk::kNone);
  EXPECT_EQ(Judge(Used(49)), SlotRisk::kNone);
  EXPECT_EQ(Judge(Used(50)), SlotRisk::kNotice);
  EXPECT_EQ(Judge(Used(80)), SlotRisk::kWarning);
  EXPECT_EQ(Judge(Used(95)), SlotRisk::kCritical);
  EXPECT_EQ(Judge(Used(100)), SlotRisk::kCritical);
}

TEST(SlotAlarmTest, RiskFollowsTheTimeLeft) {
  EXPECT_EQ(Judge(Left(minutes(61))), SlotRisk::kNone);
  EXPECT_EQ(Judge(Left(minutes(59))), SlotRisk::kWarning);
  EXPECT_EQ(Judge(Left(minutes(9))), SlotRisk::kCritical);
}

TEST(SlotAlarmTest, ServersStatusOverridesTheEstimate) {
  SlotSample sample = Used(10);
  sample.wal_status = "unreserved";
  EXPECT_EQ(Judge(sample), SlotRisk::kCritical);
  sample.wal_status = "lost";
  EXPECT_EQ(Judge(sample), SlotRisk::kLost);
  sample.wal_status = "reserved";
  sample.invalidation_reason = "idle_timeout";
  EXPECT_EQ(Judge(sample), SlotRisk::kLost);
}

TEST(SlotAlarmTest, WithoutALimitThereIsNoRisk) {
  SlotSample sample = Used(99);
  sample.safe_wal_bytes.reset();
  EXPECT_EQ(Judge(sample), SlotRisk::kNone);
}

// The operator's limit is 50 MiB, the server's 100 MiB.
SlotSample UsedOfBudget(int percent, bool drop_slot = false) {
  SlotSample sample = Used(percent / 2);
  sample.budget = RetentionBudget{.bytes = 50 * kMiB, .drop_slot = drop_slot};
  return sample;
}

TEST(SlotAlarmTest, LowerLimitApplies) {
  EXPECT_EQ(Judge(UsedOfBudget(48)), SlotRisk::kNone);
  EXPECT_EQ(Judge(UsedOfBudget(50)), SlotRisk::kNotice);
  EXPECT_EQ(Judge(UsedOfBudget(80)), SlotRisk::kWarning);
  EXPECT_EQ(Judge(UsedOfBudget(96)), SlotRisk::kCritical);
  EXPECT_EQ(Judge(UsedOfBudget(200)), SlotRisk::kCritical);
  SlotSample sample = Used(60);
  sample.budget = RetentionBudget{.bytes = 5000 * kMiB};
  EXPECT_EQ(Judge(sample), SlotRisk::kNotice);
  EXPECT_EQ(sample.reserve_bytes(), 40 * kMiB);
  EXPECT_FALSE(sample.budget_binds());
}

TEST(SlotAlarmTest, OperatorsLimitAppliesWithoutAServerLimit) {
  SlotSample sample = UsedOfBudget(80);
  sample.safe_wal_bytes.reset();
  EXPECT_EQ(sample.reserve_bytes(), 10 * kMiB);
  EXPECT_EQ(Judge(sample), SlotRisk::kWarning);
}

TEST(SlotAlarmTest, OperatorsLimitIsExceededOnceReached) {
  EXPECT_FALSE(UsedOfBudget(98).past_budget());
  EXPECT_TRUE(UsedOfBudget(100).past_budget());
  EXPECT_EQ(UsedOfBudget(120).budget_left(), -10 * kMiB);
  SlotSample sample = UsedOfBudget(120);
  sample.restart = Lsn();  // the server has invalidated the slot
  EXPECT_FALSE(sample.past_budget());
  EXPECT_EQ(sample.reserve_bytes(), sample.safe_wal_bytes);
}

TEST(SlotAlarmTest, MissingSlotIsAtNoRisk) {
  EXPECT_EQ(Judge(SlotSample()), SlotRisk::kNone);
}

TEST(SlotAlarmTest, RiskFallsOnlyWithHysteresis) {
  SlotAlarm alarm;
  EXPECT_EQ(alarm.Judge(Used(80)), SlotRisk::kWarning);
  EXPECT_EQ(alarm.Judge(Used(76)), SlotRisk::kWarning);
  EXPECT_EQ(alarm.Judge(Used(74)), SlotRisk::kNotice);
  EXPECT_EQ(alarm.Judge(Used(79)), SlotRisk::kNotice);
  EXPECT_EQ(alarm.Judge(Left(minutes(59))), SlotRisk::kWarning);
  EXPECT_EQ(alarm.Judge(Left(minutes(119))), SlotRisk::kWarning);
  EXPECT_EQ(alarm.Judge(Left(minutes(121))), SlotRisk::kNone);
}

TEST(SlotAlarmTest, RiskNamesDiffer) {
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

TEST(RiskTest, RiskIsReportedWithFigures) {
  EXPECT_THAT(RiskOf(Judged(Used(50))), IsOk());
  SlotSample sample = Used(80);
  sample.time_to_loss = minutes(25);
  EXPECT_THAT(RiskOf(Judged(sample)),
              HasError(ErrorCode::kSlotAtRisk,
                       "80.0 MiB of WAL retained, 20.0 MiB left, enough for 25m00s"));
}

TEST(RiskTest, NegativeReserveIsReportedAsZero) {
  SlotSample sample = Used(95);
  sample.safe_wal_bytes = -7;
  sample.wal_status = "unreserved";
  EXPECT_THAT(RiskOf(Judged(sample)), HasError(ErrorCode::kSlotAtRisk, "0 B left"));
  EXPECT_THAT(RiskOf(Judged(sample)), HasError(ErrorCode::kSlotAtRisk, "next checkpoint"));
}

TEST(RiskTest, OperatorsLimitIsNamedWithItsEffect) {
  EXPECT_THAT(RiskOf(Judged(UsedOfBudget(80))),
              HasError(ErrorCode::kSlotAtRisk,
                       "40.0 MiB of WAL retained, 10.0 MiB left; source.max_retained_wal is 50.0 "
                       "MiB, at which nothing is dropped"));
  const absl::Status risk = RiskOf(Judged(UsedOfBudget(100, /*drop_slot=*/true)));
  EXPECT_THAT(risk, HasError(ErrorCode::kSlotAtRisk, "at which walrelay drops the slot"));
  EXPECT_NE(RemedyFor(risk).find("raise source.max_retained_wal"), std::string::npos);
}

TEST(RiskTest, LostSlotIsReportedAsSlotLost) {
  SlotSample sample = Used(10);
  sample.wal_status = "lost";
  EXPECT_THAT(RiskOf(Judged(sample)), HasError(ErrorCode::kSlotLost, "wal_status is lost"));
  sample.invalidation_reason = "wal_removed";
  EXPECT_THAT(RiskOf(Judged(sample)), HasError(ErrorCode::kSlotLost, "wal_removed"));
}

}  // namespace
}  // namespace walrelay
