#include "recover/recover_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "plan_samples.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::Eq;
using testing::HorizonAt;
using testing::kNoon;

class RecoverPlanTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::optional<RecoveryScope>> Decide() const {
    return DecideRecovery(config_.source, config_.pipeline, config_.prune, evidence_, options_);
  }
  RecoveryScope Scope() const {
    const auto scope = Decide();
    EXPECT_THAT(scope, IsOk());
    return scope.ok() && *scope ? **scope : RecoveryScope();
  }
  void MakeSlotUsable() { evidence_.info.slot->wal_status = "reserved"; }
  void Promote(Lsn fork) {
    evidence_.info.server.timeline = 2;
    evidence_.info.server.ancestors = {{1, fork}};
    evidence_.info.slot.reset();
  }
  Progress After(const RecoveryScope& scope) const {
    return RecordAfter(config_.source, config_.pipeline, evidence_, scope, testing::SampleSlot());
  }
  RecoverPlan Plan(uint64_t rows) const {
    RecoverPlan plan{.evidence = evidence_, .options = options_, .scope = Scope()};
    plan.rows.rows = rows;
    plan.id = PlanId(config_.source, config_.pipeline, plan);
    return plan;
  }

  Config config_ = testing::SampleConfig();
  RecoverEvidence evidence_ = testing::SampleEvidence();
  RecoverOptions options_;
};

TEST_F(RecoverPlanTest, ASlotThatWorksNeedsNothing) {
  MakeSlotUsable();
  EXPECT_THAT(Decide(), IsOkAndHolds(Eq(std::nullopt)));
}

TEST_F(RecoverPlanTest, RowsAreNotChosenWhereTheFirstSlotWorks) {
  MakeSlotUsable();
  evidence_.record->generation = 0;
  EXPECT_EQ(UnprovenBefore(evidence_), 0u);
  options_.rows.since = RowsSince::kAll;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kUsage, "works"));
}

// --- a slot that works

// Rows may have been lost with the slot before it, or in a gap that was accepted.
TEST_F(RecoverPlanTest, RowsFromBeforeASlotThatWorksAreUnproven) {
  MakeSlotUsable();
  evidence_.slot_from_xid = 1500;
  EXPECT_EQ(UnprovenBefore(evidence_), 500u) << "where the record begins";
  evidence_.record->published_from = {};
  EXPECT_EQ(UnprovenBefore(evidence_), 1500u);
  evidence_.record.reset();
  EXPECT_EQ(UnprovenBefore(evidence_), 1500u);
  EXPECT_THAT(Decide(), IsOkAndHolds(Eq(std::nullopt)));
}

TEST_F(RecoverPlanTest, RowsFromBeforeASlotThatWorksAreAddedToIt) {
  MakeSlotUsable();
  options_.rows.since = RowsSince::kTime;
  for (const bool recorded : {true, false}) {
    if (!recorded) {
      evidence_.record.reset();
      evidence_.slot_from_xid = 1500;
    }
    const RecoveryScope scope = Scope();
    EXPECT_THAT(scope.problem, IsOk());
    EXPECT_TRUE(scope.keeps_slot);
  }
}

// --- a gap that is held

// What happened since does not undo it: a slot that was created again has none of these events.
TEST_F(RecoverPlanTest, AHeldGapIsTheProblem) {
  MakeSlotUsable();
  evidence_.record->held = HeldGap{.code = ErrorCode::kSlotLost, .id = "2103-1", .reason = "lost"};
  RecoveryScope scope = Scope();
  EXPECT_THAT(scope.problem, HasError(ErrorCode::kSlotLost, "lost"));
  EXPECT_FALSE(scope.keeps_slot);
  EXPECT_EQ(scope.rows.since, RowsSince::kHorizon);
  evidence_.info.slot.reset();
  EXPECT_THAT(Scope().problem, HasError(ErrorCode::kSlotLost));
  evidence_.info.server.in_recovery = true;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kInRecovery));
}

TEST_F(RecoverPlanTest, TheRecordOfALostHistoryProvesNothing) {
  for (const bool dropped : {false, true}) {
    for (const ErrorCode code :
         {ErrorCode::kHistoryRewritten, ErrorCode::kServerBehind, ErrorCode::kSlotAheadOfLog}) {
      evidence_ = testing::SampleEvidence();
      MakeSlotUsable();
      if (dropped) {
        evidence_.info.slot.reset();
      }
      evidence_.record->held = HeldGap{.code = code, .id = "x", .reason = "restored"};
      options_.rows.since = RowsSince::kHorizon;
      EXPECT_THAT(Decide(), HasError(ErrorCode::kRecoveryUnproven));
      options_.rows.since = RowsSince::kTime;
      EXPECT_FALSE(Scope().keeps_slot);
      EXPECT_EQ(Scope().proven, std::nullopt);
    }
  }
}

// A new slot would lack what the slot has and the table no longer does.
TEST_F(RecoverPlanTest, ASlotThatIsNotToBlameIsKept) {
  for (const ErrorCode code :
       {ErrorCode::kPublicationChanged, ErrorCode::kProgressUnproven, ErrorCode::kClusterChanged}) {
    evidence_ = testing::SampleEvidence();
    MakeSlotUsable();
    evidence_.record->held = HeldGap{.code = code, .id = "x", .reason = "changed"};
    options_.rows.since = RowsSince::kHorizon;
    EXPECT_THAT(Decide(), HasError(ErrorCode::kRecoveryUnproven));
    options_.rows.since = RowsSince::kTime;
    EXPECT_TRUE(Scope().keeps_slot);
    options_.failover = true;
    EXPECT_THAT(Decide(), HasError(ErrorCode::kUsage, "is kept"));
    options_.failover = false;
    evidence_.info.slot->wal_status = "lost";
    EXPECT_FALSE(Scope().keeps_slot) << "it cannot be kept";
  }
}

TEST_F(RecoverPlanTest, TheRecordOfAKeptSlotBeginsAtItsPosition) {
  MakeSlotUsable();
  evidence_.slot_from_xid = 1500;
  evidence_.record->held =
      HeldGap{.code = ErrorCode::kPublicationChanged, .id = "x", .reason = "changed"};
  options_.rows.since = RowsSince::kTime;
  const Progress after =
      RecordAfter(config_.source, config_.pipeline, evidence_, Scope(), KeptSlot(evidence_));
  EXPECT_EQ(after.held, std::nullopt);
  EXPECT_EQ(after.generation, evidence_.record->generation + 1);
  EXPECT_EQ(after.frontier, evidence_.info.slot->confirmed_flush_lsn);
  EXPECT_TRUE(after.horizons.empty());
  EXPECT_EQ(after.published_from.xid, evidence_.next.xid);
}

// --- a slot that does not

// The horizon's own xid had not ended: the mutant InclusiveHorizon begins behind it.
TEST_F(RecoverPlanTest, RowsFromTheHorizonOnAreNotProven) {
  const RecoveryScope scope = Scope();
  EXPECT_THAT(scope.problem, HasError(ErrorCode::kSlotLost));
  EXPECT_EQ(scope.rows.since, RowsSince::kHorizon);
  EXPECT_EQ(scope.rows.from_xid, 800u);
  EXPECT_EQ(scope.rows.proven_from.xid, 500u);
  EXPECT_EQ(scope.rows.proven_time_column, "created_at");
  EXPECT_TRUE(scope.rows.attachments_known);
}

TEST_F(RecoverPlanTest, ADroppedSlotAndAMovedOneAreReplaced) {
  MakeSlotUsable();
  evidence_.info.slot->confirmed_flush_lsn = Lsn(1001);
  EXPECT_THAT(Scope().problem, HasError(ErrorCode::kSlotMoved));
  evidence_.info.slot.reset();
  EXPECT_THAT(Scope().problem, HasError(ErrorCode::kSlotGone));
}

TEST_F(RecoverPlanTest, ASlotThatIsReadIsNotReplaced) {
  evidence_.info.slot->active = true;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotBusy));
}

TEST_F(RecoverPlanTest, OneRecoveryAtATime) {
  evidence_.info.slot.reset();
  evidence_.info.recovery_pid = 77;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotBusy, "77"));
}

TEST_F(RecoverPlanTest, WhatANewSlotDoesNotSolveIsReturned) {
  evidence_.info.publication.exists = false;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kPublicationMissing));
  evidence_ = testing::SampleEvidence();
  evidence_.info.slot->logical = false;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotUnusable));
  evidence_ = testing::SampleEvidence();
  evidence_.info.server.in_recovery = true;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kInRecovery));
  evidence_ = testing::SampleEvidence();
  evidence_.record->pipeline = "another";
  EXPECT_THAT(Decide(), HasError(ErrorCode::kProgressForeign));
}

TEST_F(RecoverPlanTest, LogicalMessagesAreInNoTable) {
  config_.source.tables.front().name.clear();
  EXPECT_THAT(Decide(), HasError(ErrorCode::kRecoveryUnproven, "logical messages"));
}

// --- evidence

TEST_F(RecoverPlanTest, WithoutARecordTheOperatorChooses) {
  evidence_.record.reset();
  EXPECT_THAT(Decide(), HasError(ErrorCode::kRecoveryUnproven, "no progress record"));
  options_.rows.since = RowsSince::kAll;
  EXPECT_EQ(Scope().rows.since, RowsSince::kAll);
  EXPECT_EQ(Scope().compare_since, std::nullopt);
}

TEST_F(RecoverPlanTest, AfterAPromotionAHorizonBeforeTheForkCounts) {
  Promote(Lsn(949));
  EXPECT_EQ(Scope().rows.from_xid, 700u);
  Promote(Lsn(799));
  EXPECT_THAT(Decide(), HasError(ErrorCode::kRecoveryUnproven));
}

TEST_F(RecoverPlanTest, AHorizonAtTheBeginningOfTheRecordCounts) {
  evidence_.record->published_from.xid = 800;
  EXPECT_EQ(Scope().rows.from_xid, 800u);
  EXPECT_EQ(After(Scope()).published_from.xid, 800u);
  evidence_.record->published_from = {};
  EXPECT_THAT(Decide(), HasError(ErrorCode::kRecoveryUnproven));
}

TEST_F(RecoverPlanTest, AServerThatWasRestoredOnItsTimelineProvesNothing) {
  evidence_.info.server.wal_end = Lsn(999);
  EXPECT_THAT(Decide(), HasError(ErrorCode::kRecoveryUnproven));
}

TEST_F(RecoverPlanTest, AnUpgradedServerKeepsItsXids) {
  evidence_.info.server.system_id = "7302";
  evidence_.info.server.wal_end = Lsn(10);
  EXPECT_THAT(Decide(), HasError(ErrorCode::kRecoveryUnproven, "7302"));
  options_.upgraded = true;
  EXPECT_EQ(Scope().rows.from_xid, 800u);
}

// An operator who has not chosen rows reads first how to choose them: nothing is written.
TEST_F(RecoverPlanTest, TheRecordOfAPipelineThatRunsOnAnotherServerIsNotReplaced) {
  evidence_.info.server.system_id = "7302";
  evidence_.info.server.wal_end = Lsn(10);
  evidence_.record->written = evidence_.info.server.now;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kRecoveryUnproven, "7302"));
  options_.rows.since = RowsSince::kAll;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kProgressInUse));
  options_.upgraded = true;
  EXPECT_THAT(Decide(), IsOk());
}

// What was committed since, and deleted from the tables, is only in the slot.
TEST_F(RecoverPlanTest, ASlotThatAnUpgradeMovedIsKept) {
  MakeSlotUsable();
  evidence_.info.server.system_id = "7302";
  options_.upgraded = true;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kUsage, "works"));
  // Behind the end of the WAL, a slot cannot be used.
  evidence_.info.server.wal_end = Lsn(10);
  EXPECT_THAT(Scope().problem, HasError(ErrorCode::kSystemChanged));
}

// A dump that was restored into a new cluster has other xids.
TEST_F(RecoverPlanTest, AHorizonBeyondTheServersXidsProvesNothing) {
  evidence_.info.server.system_id = "7302";
  options_.upgraded = true;
  evidence_.next.xid = 799;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kRecoveryUnproven));
}

// --- what is compared

TEST_F(RecoverPlanTest, TopicsAreComparedFromTheHorizonBefore) {
  EXPECT_EQ(Scope().compare_since, WallTime(kNoon - minutes(1) - minutes(5)));
  EXPECT_FALSE(Scope().compares_too_little);
}

// While a transaction is open, rows behind its xid are published, and no horizon shows it.
TEST_F(RecoverPlanTest, TopicsAreComparedFromBeforeATransactionThatStayedOpen) {
  evidence_.record->horizons = {HorizonAt(700, 800, hours(1)), HorizonAt(800, 900, minutes(10)),
                                HorizonAt(800, 950, Micros(0))};
  EXPECT_EQ(Scope().compare_since, WallTime(kNoon - hours(1) - minutes(5)));
  EXPECT_FALSE(Scope().compares_too_little);
}

TEST_F(RecoverPlanTest, AShortRecordIsComparedFromItsBeginning) {
  evidence_.record->horizons = {HorizonAt(800, 950, Micros(0))};
  EXPECT_EQ(Scope().compare_since, WallTime(Micros(0)) - minutes(5));
  EXPECT_FALSE(Scope().compares_too_little);
}

TEST_F(RecoverPlanTest, ATransactionThatWasAlwaysOpenLeavesRowsUncompared) {
  evidence_.record->horizons = {HorizonAt(800, 900, hours(1)), HorizonAt(800, 950, Micros(0))};
  evidence_.record->published_from.taken = WallTime(kNoon - hours(100));
  EXPECT_TRUE(Scope().compares_too_little);
  options_.compare_since = WallTime(Micros(5));
  EXPECT_EQ(Scope().compare_since, WallTime(Micros(5)));
  EXPECT_FALSE(Scope().compares_too_little);
}

TEST_F(RecoverPlanTest, ChosenRowsAreComparedFromTheirTime) {
  options_.rows.since = RowsSince::kTime;
  options_.rows.time = WallTime(hours(3));
  EXPECT_EQ(Scope().compare_since, WallTime(hours(3) - minutes(5)));
}

// --- the new slot

TEST_F(RecoverPlanTest, FailoverIsThatOfTheOldSlot) {
  EXPECT_FALSE(Scope().failover);
  evidence_.info.slot->failover = true;
  EXPECT_TRUE(Scope().failover);
  evidence_.info.slot.reset();
  EXPECT_FALSE(Scope().failover);
  options_.failover = true;
  EXPECT_TRUE(Scope().failover);
}

TEST_F(RecoverPlanTest, TheRecordContinuesAtTheNewSlot) {
  const Progress record = After(Scope());
  EXPECT_EQ(record.frontier, Lsn(6000));
  EXPECT_EQ(record.generation, 4u);
  EXPECT_EQ(record.pipeline, "shop.walrelay");
  EXPECT_EQ(record.published_from, evidence_.record->published_from);
  EXPECT_EQ(
      record.horizons.back(),
      (XidHorizon{.xid = 1990, .insert_lsn = Lsn(6000), .taken = testing::SampleSlot().taken}));
  // A relay that reads it starts at the slot, without a gap.
  evidence_.info.slot =
      SlotInfo{.plugin = "pgoutput", .database = "shop", .confirmed_flush_lsn = Lsn(6000)};
  evidence_.info.server.wal_end = Lsn(7000);
  evidence_.record = record;
  EXPECT_THAT(Decide(), IsOkAndHolds(Eq(std::nullopt)));
}

// Killed before the slot is replaced: the rows since the snapshot are left.
TEST_F(RecoverPlanTest, TheRecordProvesWhatWasRecovered) {
  evidence_.record = After(Scope());
  evidence_.info.server.wal_end = Lsn(7000);
  EXPECT_EQ(Scope().rows.from_xid, 1990u);
}

TEST_F(RecoverPlanTest, EarlierHorizonsAreKeptAtTheNewPosition) {
  evidence_.record->horizons = {HorizonAt(500, 500, hours(3)), HorizonAt(600, 600, hours(2)),
                                HorizonAt(700, 800, hours(1)), HorizonAt(800, 950, Micros(0))};
  const Progress record = After(Scope());
  ASSERT_EQ(record.horizons.size(), 4u);
  EXPECT_EQ(record.horizons.front().xid, 600u);
  EXPECT_EQ(record.horizons.front().insert_lsn, Lsn(6000));
}

TEST_F(RecoverPlanTest, HorizonsBehindAForkAreNotKept) {
  Promote(Lsn(949));
  const Progress record = After(Scope());
  ASSERT_EQ(record.horizons.size(), 2u);
  EXPECT_EQ(record.horizons.front().xid, 700u);
}

TEST_F(RecoverPlanTest, WhatWasChosenDeterminesWhatIsProven) {
  options_.rows.since = RowsSince::kAll;
  EXPECT_EQ(After(Scope()).published_from.xid, 3u);
  options_.rows.since = RowsSince::kTime;
  EXPECT_EQ(After(Scope()).published_from.xid, 2000u);
  options_.rows.since = RowsSince::kId;
  EXPECT_EQ(After(Scope()).published_from.xid, 2000u);
  EXPECT_EQ(After(Scope()).horizons.size(), 1u);
}

// --- the plan's id

TEST_F(RecoverPlanTest, APlanMayGetMoreRows) {
  const std::string id = Plan(10).id;
  EXPECT_TRUE(IsCoveredBy(Plan(10), id));
  EXPECT_TRUE(IsCoveredBy(Plan(11), id));
  EXPECT_FALSE(IsCoveredBy(Plan(9), id)) << "rows were deleted";
}

TEST_F(RecoverPlanTest, APlanRestsOnItsEvidence) {
  const std::string id = Plan(10).id;
  options_.compare = false;
  EXPECT_FALSE(IsCoveredBy(Plan(10), id));
  options_ = {};
  evidence_.record->sequence = 8;
  EXPECT_FALSE(IsCoveredBy(Plan(10), id));
  evidence_ = testing::SampleEvidence();
  evidence_.info.slot->confirmed_flush_lsn = Lsn(901);
  EXPECT_FALSE(IsCoveredBy(Plan(10), id));
}

TEST_F(RecoverPlanTest, AnythingElseIsNoPlan) {
  for (const char* id : {"", "-", "10", "-10", "x-", "x-10", "00000000-10"}) {
    EXPECT_FALSE(IsCoveredBy(Plan(10), id)) << id;
  }
}

}  // namespace
}  // namespace walrelay
