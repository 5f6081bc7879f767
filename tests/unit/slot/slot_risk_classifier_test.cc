#include "slot/slot_risk_classifier.h"

#include <gtest/gtest.h>

#include <set>

#include "fakes/sizes.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using std::chrono::minutes;

using testing::kMiB;

// A slot that may retain 100 MiB and has used `percent` of them.
SlotSample Used(int percent) {
  return {.exists = true,
          .row = {.restart_lsn = Lsn(static_cast<uint64_t>((1000 - percent) * kMiB)),
                  .confirmed_flush_lsn = Lsn(static_cast<uint64_t>((1000 - percent) * kMiB)),
                  .wal_status = "reserved",
                  .safe_wal_size = (100 - percent) * kMiB},
          .wal_end = Lsn(1000 * kMiB),
          .max_retained_bytes = 100 * kMiB};
}
SlotSample Left(Micros time) {
  SlotSample sample = Used(10);
  sample.time_to_loss = time;
  return sample;
}
SlotRisk Classify(const SlotSample& sample) {
  return SlotRiskClassifier().Classify(sample);
}

TEST(SlotRiskClassifierTest, RiskFollowsTheUsedShare) {
  EXPECT_EQ(Classify(Used(0)), SlotRisk::kNone);
  EXPECT_EQ(Classify(Used(49)), SlotRisk::kNone);
  EXPECT_EQ(Classify(Used(50)), SlotRisk::kNotice);
  EXPECT_EQ(Classify(Used(80)), SlotRisk::kWarning);
  EXPECT_EQ(Classify(Used(95)), SlotRisk::kCritical);
  EXPECT_EQ(Classify(Used(100)), SlotRisk::kCritical);
}

TEST(SlotRiskClassifierTest, RiskFollowsTheTimeLeft) {
  EXPECT_EQ(Classify(Left(minutes(61))), SlotRisk::kNone);
  EXPECT_EQ(Classify(Left(minutes(59))), SlotRisk::kWarning);
  EXPECT_EQ(Classify(Left(minutes(9))), SlotRisk::kCritical);
}

TEST(SlotRiskClassifierTest, ServersStatusOverridesTheEstimate) {
  SlotSample sample = Used(10);
  sample.row.wal_status = "unreserved";
  EXPECT_EQ(Classify(sample), SlotRisk::kCritical);
  sample.row.wal_status = "lost";
  EXPECT_EQ(Classify(sample), SlotRisk::kLost);
  sample.row.wal_status = "reserved";
  sample.row.invalidation_reason = "idle_timeout";
  EXPECT_EQ(Classify(sample), SlotRisk::kLost);
}

TEST(SlotRiskClassifierTest, WithoutALimitThereIsNoRisk) {
  SlotSample sample = Used(99);
  sample.row.safe_wal_size.reset();
  EXPECT_EQ(Classify(sample), SlotRisk::kNone);
}

// The operator's limit is 50 MiB, the server's 100 MiB.
SlotSample UsedOfBudget(int percent, bool drop_slot = false) {
  SlotSample sample = Used(percent / 2);
  sample.budget = WalRetentionLimit{.bytes = 50 * kMiB, .drop_slot = drop_slot};
  return sample;
}

TEST(SlotRiskClassifierTest, LowerLimitApplies) {
  EXPECT_EQ(Classify(UsedOfBudget(48)), SlotRisk::kNone);
  EXPECT_EQ(Classify(UsedOfBudget(50)), SlotRisk::kNotice);
  EXPECT_EQ(Classify(UsedOfBudget(80)), SlotRisk::kWarning);
  EXPECT_EQ(Classify(UsedOfBudget(96)), SlotRisk::kCritical);
  EXPECT_EQ(Classify(UsedOfBudget(200)), SlotRisk::kCritical);
  SlotSample sample = Used(60);
  sample.budget = WalRetentionLimit{.bytes = 5000 * kMiB};
  EXPECT_EQ(Classify(sample), SlotRisk::kNotice);
  EXPECT_EQ(sample.reserve_bytes(), 40 * kMiB);
  EXPECT_FALSE(sample.operator_limit_applies());
}

TEST(SlotRiskClassifierTest, OperatorsLimitAppliesWithoutAServerLimit) {
  SlotSample sample = UsedOfBudget(80);
  sample.row.safe_wal_size.reset();
  EXPECT_EQ(sample.reserve_bytes(), 10 * kMiB);
  EXPECT_EQ(Classify(sample), SlotRisk::kWarning);
}

TEST(SlotRiskClassifierTest, OperatorsLimitIsExceededOnceReached) {
  EXPECT_FALSE(UsedOfBudget(98).past_budget());
  EXPECT_TRUE(UsedOfBudget(100).past_budget());
  EXPECT_EQ(UsedOfBudget(120).budget_left(), -10 * kMiB);
  SlotSample sample = UsedOfBudget(120);
  sample.row.restart_lsn = Lsn();  // the server has invalidated the slot
  EXPECT_FALSE(sample.past_budget());
  EXPECT_EQ(sample.reserve_bytes(), sample.row.safe_wal_size);
}

TEST(SlotRiskClassifierTest, MissingSlotIsAtNoRisk) {
  EXPECT_EQ(Classify(SlotSample()), SlotRisk::kNone);
}

TEST(SlotRiskClassifierTest, RiskFallsOnlyWithHysteresis) {
  SlotRiskClassifier alarm;
  EXPECT_EQ(alarm.Classify(Used(80)), SlotRisk::kWarning);
  EXPECT_EQ(alarm.Classify(Used(76)), SlotRisk::kWarning);
  EXPECT_EQ(alarm.Classify(Used(74)), SlotRisk::kNotice);
  EXPECT_EQ(alarm.Classify(Used(79)), SlotRisk::kNotice);
  EXPECT_EQ(alarm.Classify(Left(minutes(59))), SlotRisk::kWarning);
  EXPECT_EQ(alarm.Classify(Left(minutes(119))), SlotRisk::kWarning);
  EXPECT_EQ(alarm.Classify(Left(minutes(121))), SlotRisk::kNone);
}

TEST(SlotRiskClassifierTest, RiskNamesDiffer) {
  std::set<std::string_view> names;
  for (const SlotRisk risk : {SlotRisk::kNone, SlotRisk::kNotice, SlotRisk::kWarning,
                              SlotRisk::kCritical, SlotRisk::kLost}) {
    EXPECT_TRUE(names.insert(NameOf(risk)).second);
  }
}

SlotSample Judged(SlotSample sample) {
  sample.risk = Classify(sample);
  return sample;
}

TEST(RiskTest, RiskIsReportedWithFigures) {
  EXPECT_THAT(RiskStatus(Judged(Used(50))), IsOk());
  SlotSample sample = Used(80);
  sample.time_to_loss = minutes(25);
  EXPECT_THAT(RiskStatus(Judged(sample)),
              HasError(ErrorCode::kSlotAtRisk,
                       "80.0 MiB of WAL retained, 20.0 MiB left, enough for 25 min"));
}

TEST(RiskTest, NegativeReserveIsReportedAsNoneLeft) {
  SlotSample sample = Used(95);
  sample.row.safe_wal_size = -7;
  sample.time_to_loss = Micros(0);
  sample.row.wal_status = "unreserved";
  EXPECT_THAT(RiskStatus(Judged(sample)),
              HasError(ErrorCode::kSlotAtRisk, "of WAL retained, none left;"));
  EXPECT_THAT(RiskStatus(Judged(sample)), HasError(ErrorCode::kSlotAtRisk, "next checkpoint"));
}

TEST(RiskTest, OperatorsLimitIsNamedWithItsEffect) {
  EXPECT_THAT(RiskStatus(Judged(UsedOfBudget(80))),
              HasError(ErrorCode::kSlotAtRisk,
                       "40.0 MiB of WAL retained, 10.0 MiB left; source.max_retained_wal is 50.0 "
                       "MiB, at which nothing is dropped"));
  const absl::Status risk = RiskStatus(Judged(UsedOfBudget(100, /*drop_slot=*/true)));
  EXPECT_THAT(risk, HasError(ErrorCode::kSlotAtRisk, "at which walrelay drops the slot"));
  EXPECT_NE(RemedyFor(risk).find("raise source.max_retained_wal"), std::string::npos);
}

TEST(RiskTest, LostSlotIsReportedAsSlotLost) {
  SlotSample sample = Used(10);
  sample.row.wal_status = "lost";
  EXPECT_THAT(RiskStatus(Judged(sample)), HasError(ErrorCode::kSlotLost, "wal_status is lost"));
  sample.row.invalidation_reason = "wal_removed";
  EXPECT_THAT(RiskStatus(Judged(sample)), HasError(ErrorCode::kSlotLost, "wal_removed"));
}

}  // namespace
}  // namespace walrelay
