#include "cli/progress_plan.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "stream/progress_record.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

class ProgressPlanTest : public ::testing::Test {
 protected:
  ProgressPlanTest() {
    config_.source.slot = "walrelay";
    info_.server = {.system_id = "7301", .timeline = 2, .wal_end = Lsn(1000), .database = "shop"};
    info_.slot =
        SlotInfo{.plugin = "pgoutput", .database = "shop", .confirmed_flush_lsn = Lsn(500)};
  }

  // The topic has a record of this pipeline.
  Progress& Recorded(uint64_t frontier, uint64_t generation = 4) {
    record_ = ProgressFrom(config_.source, config_.pipeline, info_);
    record_->frontier = Lsn(frontier);
    record_->generation = generation;
    return *record_;
  }
  absl::StatusOr<Progress> Init(bool force = false) {
    return PlanProgressInit({config_.source, config_.pipeline, info_, record_, force});
  }
  absl::StatusOr<Progress> Set(uint64_t frontier, bool force = false) {
    return PlanProgressSet({config_.source, config_.pipeline, info_, record_, force},
                           Lsn(frontier));
  }
  uint64_t GenerationOfSet(uint64_t frontier, bool force = false) {
    const auto record = Set(frontier, force);
    EXPECT_THAT(record, IsOk());
    return record.ok() ? record->generation : 0;
  }

  Config config_;
  SourceInfo info_;
  std::optional<Progress> record_;
};

TEST_F(ProgressPlanTest, InitAdoptsTheConfirmedPosition) {
  const auto record = Init();
  ASSERT_THAT(record, IsOk());
  EXPECT_EQ(record->frontier, Lsn(500));
  EXPECT_EQ(record->pipeline, "shop.walrelay");
  EXPECT_EQ(record->generation, 0u);
  EXPECT_FALSE(record->last.valid());
}

TEST_F(ProgressPlanTest, InitKeepsAnExistingRecord) {
  Recorded(400);
  EXPECT_THAT(Init(), HasError(ErrorCode::kUsage, "0/190"));
}

TEST_F(ProgressPlanTest, ForcedInitOutranksTheReplacedRecord) {
  const Progress old = Recorded(900);
  const auto record = Init(true);
  ASSERT_THAT(record, IsOk());
  EXPECT_EQ(record->generation, 5u);
  EXPECT_GT(record->Order(), old.Order());
}

TEST_F(ProgressPlanTest, ANewRecordDecidesAboutAGapThatIsHeld) {
  Recorded(400).held = HeldGap{.code = ErrorCode::kServerBehind, .id = "2202-1"};
  EXPECT_EQ(GenerationOfSet(600), 5u);
  const auto record = Init(true);
  ASSERT_THAT(record, IsOk());
  EXPECT_EQ(record->generation, 5u);
  EXPECT_FALSE(record->held);
}

TEST_F(ProgressPlanTest, SlotMustBeUsable) {
  for (const bool force : {false, true}) {
    info_.slot->wal_status = "lost";
    EXPECT_THAT(Init(force), HasError(ErrorCode::kSlotLost));
    EXPECT_THAT(Set(600, force), HasError(ErrorCode::kSlotLost));
    info_.slot->wal_status = "";
    info_.slot->active = true;
    EXPECT_THAT(Init(force), HasError(ErrorCode::kSlotBusy));
    EXPECT_THAT(Set(600, force), HasError(ErrorCode::kSlotBusy));
    info_.slot->active = false;
  }
  info_.slot.reset();
  EXPECT_THAT(Init(true), HasError(ErrorCode::kSlotMissing));
  EXPECT_THAT(Set(600, true), HasError(ErrorCode::kSlotMissing));
}

TEST_F(ProgressPlanTest, StandbyHasNoPositionToAdopt) {
  info_.server.in_recovery = true;
  EXPECT_THAT(Init(), HasError(ErrorCode::kInRecovery));
}

// The pipeline of another server with the same id would lose its record.
TEST_F(ProgressPlanTest, SetDoesNotReplaceARecordThatIsInUse) {
  Recorded(500).system_id = "7302";
  record_->run_id = "0011";
  record_->written = info_.server.now = WallTime(std::chrono::hours(1));
  EXPECT_THAT(Set(600), HasError(ErrorCode::kProgressInUse));
  EXPECT_THAT(Set(600, true), IsOk());
}

TEST_F(ProgressPlanTest, SetNeedsNoRecord) {
  const auto record = Set(700);
  ASSERT_THAT(record, IsOk());
  EXPECT_EQ(record->frontier, Lsn(700));
  EXPECT_EQ(record->generation, 0u);
}

TEST_F(ProgressPlanTest, SetAcceptsBothEndsOfTheRange) {
  EXPECT_THAT(Set(500), IsOk());
  EXPECT_THAT(Set(1000), IsOk());
}

TEST_F(ProgressPlanTest, SetRefusesPositionsAtWhichTheRelayHolds) {
  EXPECT_THAT(Set(499), HasError(ErrorCode::kUsage, "confirmed position 0/1F4"));
  EXPECT_THAT(Set(1001), HasError(ErrorCode::kUsage, "end of the WAL, 0/3E8"));
  EXPECT_THAT(Set(499, true), IsOk());
  EXPECT_THAT(Set(1001, true), IsOk());
}

TEST_F(ProgressPlanTest, LaterPositionKeepsTheGeneration) {
  Recorded(600);
  EXPECT_EQ(GenerationOfSet(700), 4u);
}

TEST_F(ProgressPlanTest, RecordThatIsNotLaterGetsTheNextGeneration) {
  Recorded(800);
  EXPECT_EQ(GenerationOfSet(700), 5u);
  EXPECT_EQ(GenerationOfSet(800), 5u);
}

TEST_F(ProgressPlanTest, EarlierTimelineGetsTheNextGeneration) {
  Recorded(600).timeline = 3;
  EXPECT_EQ(GenerationOfSet(700), 5u);
}

// Positions of two systems are not comparable.
TEST_F(ProgressPlanTest, AnotherSystemGetsTheNextGeneration) {
  Recorded(600).system_id = "9999";
  EXPECT_EQ(GenerationOfSet(700), 5u);
}

TEST_F(ProgressPlanTest, SetReplacesAForeignRecordOnlyByForce) {
  Recorded(600).slot = "other";
  EXPECT_THAT(Set(700), HasError(ErrorCode::kProgressForeign));
  EXPECT_THAT(Set(700, true), IsOk());
}

}  // namespace
}  // namespace walrelay
