#include "stream/start_position.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

class StartPositionTest : public ::testing::Test {
 protected:
  StartPositionTest() {
    info_.server = {.system_id = "7301", .timeline = 1, .wal_end = Lsn(1000), .database = "shop"};
    info_.slot =
        SlotInfo{.plugin = "pgoutput", .database = "shop", .confirmed_flush_lsn = Lsn(500)};
    info_.publication = {.exists = true, .publishes_insert = true};
    info_.tables = {{.schema = "public", .name = "outbox", .oid = 16385, .published = true}};
  }

  // This process has streamed from the same server before.
  ResumeState& Remember(uint64_t frontier, uint64_t resume) {
    memory_ = ResumeState{.system_id = "7301", .timeline = 1, .frontier = Lsn(frontier)};
    stream().resume = Lsn(resume);
    return *memory_;
  }
  // The memory is that of a record.
  ResumeState& Read(uint64_t frontier) {
    ResumeState& record = Remember(frontier, frontier);
    record.source = Recorded();
    return record;
  }
  LeftByStream& stream() { return std::get<LeftByStream>(memory_->source); }
  PartialTransaction& partial() { return memory_->partial; }
  void ForkAt(Lsn end) {
    info_.server.timeline = 2;
    info_.server.ancestors = {{1, end}};
  }
  absl::StatusOr<StartDecision> Decide() { return DecideStart(memory_, info_); }
  absl::Status Problem() {
    const auto problems = PublicationProblems(info_, "walrelay");
    return problems.empty() ? absl::OkStatus() : problems.front();
  }

  std::optional<ResumeState> memory_;
  SourceInfo info_;
};

TEST_F(StartPositionTest, FirstConnectionStartsAtTheConfirmedPosition) {
  const auto decision = Decide();
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->position, Lsn(500));
  EXPECT_FALSE(decision->keep_in_flight);
}

// Not a gap: the recovery ends by itself.
TEST_F(StartPositionTest, ARecoveryIsAwaited) {
  info_.recovery_pid = 77;
  info_.slot.reset();
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotMissing, "process 77"));
  Remember(600, 600);
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotMissing, "walrelay recover"));
}

TEST_F(StartPositionTest, ReconnectReadsAgainWhatIsInFlight) {
  Remember(600, 800);
  stream().last_handled = {.commit_lsn = Lsn(700), .xid = 7};
  const auto decision = Decide();
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->position, Lsn(500));
  EXPECT_TRUE(decision->keep_in_flight);
  EXPECT_EQ(decision->expected, stream().last_handled);
  EXPECT_EQ(decision->settled_before, (Position{Lsn(701), Lsn(), 0}));
  EXPECT_FALSE(decision->published_before.valid());
}

TEST_F(StartPositionTest, TheServerDoesNotSendTransactionsBeforeTheSlotsPosition) {
  Remember(600, 800);
  stream().last_handled = {.commit_lsn = Lsn(499), .xid = 7};
  EXPECT_FALSE(Decide()->expected.valid());
  EXPECT_EQ(Decide()->settled_before, (Position{Lsn(500), Lsn(), 0}));
  stream().last_handled.commit_lsn = Lsn(500);
  EXPECT_TRUE(Decide()->expected.valid());
}

TEST_F(StartPositionTest, LostConfirmedPositionCausesNoDuplicates) {
  Remember(600, 600);
  stream().last_handled = {.commit_lsn = Lsn(550), .xid = 7};
  info_.slot->confirmed_flush_lsn = Lsn(100);
  EXPECT_EQ(Decide()->position, Lsn(100));
  EXPECT_EQ(Decide()->settled_before, (Position{Lsn(551), Lsn(), 0}));
}

TEST_F(StartPositionTest, ReconnectContinuesInTheMiddleOfATransaction) {
  Remember(600, 800);
  stream().last_handled = {.commit_lsn = Lsn(700), .xid = 7};
  stream().unfinished = {.transaction = {.commit_lsn = Lsn(900), .xid = 8},
                         .next = {Lsn(900), Lsn(850), 2}};
  const auto decision = Decide();
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->expected, stream().last_handled);
  EXPECT_EQ(decision->expected_next, stream().unfinished.transaction);
  EXPECT_EQ(decision->settled_before, stream().unfinished.next);
}

// A record that an operator wrote names no transaction.
TEST_F(StartPositionTest, WhatTheRecordSaysCountsUntilATransactionWasHandled) {
  Remember(600, 600).settled_before = Lsn(550);
  info_.slot->confirmed_flush_lsn = Lsn(100);
  EXPECT_EQ(Decide()->settled_before, (Position{Lsn(550), Lsn(), 0}));
}

TEST_F(StartPositionTest, NeverStartsAfterTheEndOfTheWal) {
  Remember(600, 1001);
  EXPECT_THAT(Decide(), HasError(ErrorCode::kServerBehind));
}

TEST_F(StartPositionTest, AnotherSystemIsRejected) {
  Remember(600, 600).system_id = "9999";
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSystemChanged));
}

TEST_F(StartPositionTest, NewerTimelineStartsAtTheSlotAndDropsRecordsInFlight) {
  Remember(600, 5000);
  ForkAt(Lsn(550));
  const auto decision = Decide();
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->position, Lsn(500));
  EXPECT_FALSE(decision->keep_in_flight);
  EXPECT_TRUE(decision->timeline_switched);
  EXPECT_FALSE(decision->taken_over);
  EXPECT_EQ(decision->fork, Lsn(550));
}

TEST_F(StartPositionTest, SlotRecreatedOnANewerTimelineIsAGapEvenBelowTheConfirmedPosition) {
  Remember(600, 600);
  ForkAt(Lsn(499));
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotMoved, "timeline 2 forked at 0/1F3"));
  ForkAt(Lsn(500));
  EXPECT_THAT(Decide(), IsOk());
}

TEST_F(StartPositionTest, SlotMovedByAnotherInstanceOnANewerTimelineIsATakeover) {
  Remember(600, 600).slot_was_taken = true;
  ForkAt(Lsn(400));
  const auto decision = Decide();
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->position, Lsn(500));
  EXPECT_TRUE(decision->taken_over);
}

TEST_F(StartPositionTest, LaterTimelineIsComparedAtTheEndOfTheOwnTimeline) {
  Remember(600, 600);
  info_.server.timeline = 4;
  info_.server.ancestors = {{1, Lsn(550)}, {2, Lsn(700)}, {3, Lsn(900)}};
  EXPECT_EQ(Decide()->fork, Lsn(550));
  memory_->timeline = 2;
  memory_->ancestors = {{1, Lsn(550)}};
  EXPECT_EQ(Decide()->fork, Lsn(700));
}

TEST_F(StartPositionTest, SiblingTimelineIsComparedAtTheFork) {
  Remember(600, 600).timeline = 2;
  memory_->ancestors = {{1, Lsn(550)}};
  info_.server.timeline = 3;
  info_.server.ancestors = {{1, Lsn(520)}};
  EXPECT_EQ(Decide()->fork, Lsn(520));
  info_.server.ancestors = {{1, Lsn(560)}};
  EXPECT_EQ(Decide()->fork, Lsn(550));
}

TEST_F(StartPositionTest, TimelineWithTheSameNumberMayDiffer) {
  Remember(600, 600).timeline = 2;
  memory_->ancestors = {{1, Lsn(550)}};
  ForkAt(Lsn(550));
  EXPECT_FALSE(Decide()->timeline_switched);
  ForkAt(Lsn(530));
  EXPECT_EQ(Decide()->fork, Lsn(530));
  info_.server.ancestors.clear();  // unknown history: the timeline number decides
  EXPECT_FALSE(Decide()->timeline_switched);
}

TEST_F(StartPositionTest, TimelineWithoutACommonHistoryIsRejected) {
  Remember(600, 600);
  info_.server.timeline = 3;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kTimelineChanged, "no common history"));
}

TEST_F(StartPositionTest, SlotMovedWithoutAnotherInstanceIsAGap) {
  Remember(400, 400);
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotMoved));
}

TEST_F(StartPositionTest, SlotMovedByAnotherInstanceIsATakeover) {
  Remember(400, 450).slot_was_taken = true;
  const auto decision = Decide();
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->position, Lsn(500));
  EXPECT_TRUE(decision->taken_over);
  EXPECT_FALSE(decision->keep_in_flight);
}

TEST_F(StartPositionTest, SlotAheadOfTheWalIsRejectedEvenAtStartup) {
  info_.slot->confirmed_flush_lsn = Lsn(1001);
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotAheadOfLog));
}

TEST_F(StartPositionTest, MissingSlotIsAGapOnlyIfItWasSeenBefore) {
  info_.slot.reset();
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotMissing));
  Remember(600, 600);
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotGone));
}

TEST_F(StartPositionTest, UnusableSlotsAreNamed) {
  info_.slot->plugin = "wal2json";
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotUnusable, "wal2json"));
  info_.slot->plugin = "pgoutput";
  info_.slot->database = "other";
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotUnusable, "other"));
  info_.slot->database = "shop";
  info_.slot->logical = false;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotUnusable, "physical"));
}

TEST_F(StartPositionTest, InvalidatedSlotIsLost) {
  info_.slot->wal_status = "lost";
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotLost));
  info_.slot->wal_status = "reserved";
  info_.slot->invalidation_reason = "idle_timeout";
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotLost, "idle_timeout"));
}

TEST_F(StartPositionTest, AcceptedGapResumesAtTheSlotsPosition) {
  Remember(600, 800);
  info_.server.system_id = "9999";
  ASSERT_THAT(FindGap(memory_, std::nullopt, info_), HasError(ErrorCode::kSystemChanged));
  memory_ = AcceptedResumeState(info_);
  EXPECT_THAT(FindGap(memory_, std::nullopt, info_), IsOk());
  EXPECT_EQ(Decide()->position, Lsn(500));
  info_.slot->confirmed_flush_lsn = Lsn(501);
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotMoved));
}

TEST_F(StartPositionTest, AcceptedLossWaitsForAUsableSlot) {
  Remember(600, 800);
  info_.slot.reset();
  ASSERT_THAT(FindGap(memory_, std::nullopt, info_), HasError(ErrorCode::kSlotGone));
  memory_ = AcceptedResumeState(info_);
  EXPECT_THAT(FindGap(memory_, std::nullopt, info_), IsOk());
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotMissing));
  info_.slot = SlotInfo{.plugin = "pgoutput", .database = "shop", .confirmed_flush_lsn = Lsn(990)};
  info_.slot->wal_status = "lost";
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotUnusable));
  info_.slot->wal_status = "reserved";
  const auto decision = Decide();
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->position, Lsn(990));
  EXPECT_FALSE(decision->keep_in_flight);
}

// A record of 400, whose last transaction committed at 380.
TEST_F(StartPositionTest, ARecordIsCheckedByTheStream) {
  ResumeState& record = Read(400);
  record.last_published = {.commit_lsn = Lsn(380), .xid = 7};
  info_.slot->confirmed_flush_lsn = Lsn(300);
  const auto decision = Decide();
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->position, Lsn(300));
  EXPECT_FALSE(decision->keep_in_flight);
  EXPECT_EQ(decision->published_before, Lsn(400));
  EXPECT_EQ(decision->expected, record.last_published);
  EXPECT_EQ(decision->last_published, record.last_published);
}

// The server sends a transaction whose COMMIT begins at the confirmed position.
TEST_F(StartPositionTest, ATransactionBeforeTheConfirmedPositionIsNotExpected) {
  ResumeState& record = Read(400);
  record.last_published = {.commit_lsn = Lsn(380), .xid = 7};
  info_.slot->confirmed_flush_lsn = Lsn(380);
  EXPECT_EQ(Decide()->expected, record.last_published);
  info_.slot->confirmed_flush_lsn = Lsn(381);
  EXPECT_FALSE(Decide()->expected.valid());
  EXPECT_EQ(Decide()->last_published, record.last_published);
  info_.slot->confirmed_flush_lsn = Lsn(401);
  EXPECT_THAT(Decide(), HasError(ErrorCode::kSlotMoved));
}

// The server may have been restored to a state before the frontier: nothing in the WAL would show
// it, and the transactions before the frontier would be skipped.
TEST_F(StartPositionTest, ARecordWithoutATransactionSettlesOnlyWhatIsKnown) {
  ResumeState& record = Read(400);
  info_.slot->confirmed_flush_lsn = Lsn(300);
  EXPECT_EQ(Decide()->published_before, Lsn(400));
  EXPECT_EQ(Decide()->settled_before, Position());
  record.settled_before = Lsn(300);
  EXPECT_EQ(Decide()->settled_before, (Position{Lsn(300), Lsn(), 0}));
  EXPECT_EQ(Decide()->recorded_settled, Lsn(300));
}

// Any user who may write to the topic could have written it.
TEST_F(StartPositionTest, ARecordWithoutATransactionIsBelievedUpToTheSlot) {
  ResumeState& record = Read(400);
  record.settled_before = Lsn(301);
  info_.slot->confirmed_flush_lsn = Lsn(300);
  EXPECT_THAT(Decide(), HasError(ErrorCode::kProgressUnproven, "0/12D"));
  info_.slot->confirmed_flush_lsn = Lsn(301);
  EXPECT_THAT(Decide(), IsOk());
  info_.slot->confirmed_flush_lsn = Lsn(300);
  partial().transaction = {.commit_lsn = Lsn(410), .xid = 8};
  EXPECT_EQ(Decide()->expected_next, partial().transaction);
}

// It names one, and claims more.
TEST_F(StartPositionTest, ARecordIsBelievedUpToTheTransactionThatItNames) {
  ResumeState& record = Read(400);
  info_.slot->confirmed_flush_lsn = Lsn(300);
  record.last_published = {.commit_lsn = Lsn(380), .xid = 7};
  record.settled_before = Lsn(381);
  EXPECT_THAT(Decide(), IsOk());
  record.settled_before = Lsn(390);
  EXPECT_THAT(Decide(), HasError(ErrorCode::kProgressUnproven));
}

TEST_F(StartPositionTest, NothingThatIsPublishedCommittedAfterTheLatestCommit) {
  const WallTime then{std::chrono::hours(1)};
  info_.server.now = then + std::chrono::hours(2);
  EXPECT_EQ(Decide()->latest_commit, info_.server.now);
  ResumeState& record = Read(400);
  info_.slot->confirmed_flush_lsn = Lsn(300);
  record.latest_commit = then;
  EXPECT_EQ(Decide()->latest_commit, then);
  // Its first rows are published.
  partial().transaction = {
      .commit_lsn = Lsn(410), .xid = 8, .commit_time = then + std::chrono::hours(1)};
  EXPECT_EQ(Decide()->latest_commit, partial().transaction.commit_time);
}

// The clock may have been set back, or be that of another server.
TEST_F(StartPositionTest, WhatTheRecordDoesNotSayOfTimesIsUnknownWhileItIsSentAgain) {
  info_.server.now = WallTime(std::chrono::hours(1));
  ResumeState& record = Read(400);
  record.last_published = {.commit_lsn = Lsn(380), .xid = 7};
  info_.slot->confirmed_flush_lsn = Lsn(380);
  EXPECT_EQ(Decide()->latest_commit, WallTime::max());
  info_.slot->confirmed_flush_lsn = Lsn(381);
  EXPECT_EQ(Decide()->latest_commit, info_.server.now);
}

// The relay that was promoted with the server has published everything before the fork.
// A standby that had not received the fork of the record is promoted: nothing behind the fork of
// its own timeline is skipped, whatever the record says.
TEST_F(StartPositionTest, ARecordWithoutATransactionNeedsNoEvidenceBehindTheFork) {
  ResumeState& record = Read(400);
  record.timeline = 2;
  record.ancestors = {{1, Lsn(350)}};
  record.settled_before = Lsn(350);
  info_.server.timeline = 3;
  info_.server.ancestors = {{1, Lsn(300)}};
  info_.slot->confirmed_flush_lsn = Lsn(300);
  EXPECT_EQ(Decide()->settled_before, (Position{Lsn(300), Lsn(), 0}));
}

TEST_F(StartPositionTest, ARecordWithoutATransactionIsBelievedUpToTheTimeline) {
  ResumeState& record = Read(400);
  record.timeline = info_.server.timeline = 2;
  record.ancestors = info_.server.ancestors = {{1, Lsn(350)}};
  record.settled_before = Lsn(350);
  info_.slot->confirmed_flush_lsn = Lsn(300);
  EXPECT_EQ(Decide()->settled_before, (Position{Lsn(350), Lsn(), 0}));
  record.settled_before = Lsn(351);
  EXPECT_THAT(Decide(), HasError(ErrorCode::kProgressUnproven));
}

// What the process has published before the fork, and nothing that is in flight.
TEST_F(StartPositionTest, APromotionKeepsWhatARunningRelayHasPublished) {
  ResumeState& memory = Remember(600, 800);
  memory.last_published = {.commit_lsn = Lsn(550), .xid = 7};
  stream().last_handled = {.commit_lsn = Lsn(700), .xid = 8};
  stream().unfinished = {.transaction = {.commit_lsn = Lsn(900), .xid = 9},
                         .next = {Lsn(900), Lsn(850), 2}};
  ForkAt(Lsn(950));
  auto decision = Decide();
  ASSERT_THAT(decision, IsOk());
  EXPECT_FALSE(decision->keep_in_flight);
  EXPECT_EQ(decision->expected, memory.last_published);
  EXPECT_EQ(decision->last_published, memory.last_published);
  EXPECT_FALSE(decision->expected_next.valid());
  EXPECT_EQ(decision->settled_before, (Position{Lsn(551), Lsn(), 0}));
  EXPECT_EQ(decision->published_before, Lsn(600));
  ForkAt(Lsn(520));
  decision = Decide();
  EXPECT_FALSE(decision->expected.valid());
  EXPECT_EQ(decision->settled_before, (Position{Lsn(520), Lsn(), 0}));
}

// The first rows of a transaction that a record has are published, also where another instance has
// sent them.
TEST_F(StartPositionTest, APromotionKeepsTheRecordedPartOfATransaction) {
  Remember(600, 800);
  partial() = {
      .transaction = {.commit_lsn = Lsn(900), .xid = 9}, .row_lsn = Lsn(850), .row_index = 1};
  EXPECT_FALSE(Decide()->partial.valid());
  ForkAt(Lsn(950));
  EXPECT_EQ(Decide()->partial, partial());
  EXPECT_EQ(Decide()->settled_before, partial().last_row().Next());
  ForkAt(Lsn(890));
  EXPECT_FALSE(Decide()->partial.valid());
  memory_->last_published = {.commit_lsn = Lsn(901), .xid = 10};
  ForkAt(Lsn(950));
  EXPECT_FALSE(Decide()->partial.valid());
}

TEST_F(StartPositionTest, ARecordCountsUpToTheFork) {
  ResumeState& record = Read(400);
  record.last_published = {.commit_lsn = Lsn(380), .xid = 7};
  info_.slot->confirmed_flush_lsn = Lsn(300);
  ForkAt(Lsn(390));
  auto decision = Decide();
  ASSERT_THAT(decision, IsOk());
  EXPECT_TRUE(decision->timeline_switched);
  EXPECT_EQ(decision->published_before, Lsn(390));
  EXPECT_EQ(decision->expected, record.last_published);
  ForkAt(Lsn(350));
  decision = Decide();
  EXPECT_EQ(decision->published_before, Lsn(350));
  EXPECT_EQ(decision->recorded_settled, Lsn(350));
  EXPECT_EQ(decision->settled_before, (Position{Lsn(350), Lsn(), 0}));
  EXPECT_FALSE(decision->expected.valid());
  EXPECT_FALSE(decision->last_published.valid());
  ForkAt(Lsn(500));
  EXPECT_EQ(Decide()->published_before, Lsn(400));
}

TEST_F(StartPositionTest, GapChecksServerThenPublicationThenSlot) {
  Remember(400, 400);
  const PublicationState seen{.identity = {.oid = 1, .xmin = 7}, .before = Lsn(300)};
  info_.publication_state = {.identity = {.oid = 1, .xmin = 8}, .after = Lsn(990)};
  info_.server.system_id = "9999";
  EXPECT_THAT(FindGap(memory_, seen, info_), HasError(ErrorCode::kSystemChanged));
  info_.server.system_id = "7301";
  EXPECT_THAT(FindGap(memory_, seen, info_),
              HasError(ErrorCode::kPublicationChanged,
                       "the publication was altered; rows written between 0/12C and 0/3DE"));
  EXPECT_THAT(FindGap(memory_, std::nullopt, info_), HasError(ErrorCode::kSlotMoved));
  info_.slot->active = true;  // its reader is responsible for it
  EXPECT_THAT(FindGap(memory_, std::nullopt, info_), IsOk());
  info_.slot->active = false;
  info_.slot->plugin = "wal2json";  // unusable, but not a gap
  EXPECT_THAT(FindGap(memory_, std::nullopt, info_), IsOk());
  info_.server.in_recovery = true;
  EXPECT_THAT(FindGap(memory_, seen, info_), IsOk());
}

TEST_F(StartPositionTest, StandbyServerIsRejected) {
  info_.server.in_recovery = true;
  EXPECT_THAT(Decide(), HasError(ErrorCode::kInRecovery));
}

TEST_F(StartPositionTest, HealthyPublicationHasNoProblem) {
  EXPECT_THAT(Problem(), IsOk());
}

TEST_F(StartPositionTest, EveryPublicationSettingThatHidesRowsIsAProblem) {
  const SourceInfo healthy = info_;
  info_.publication.exists = false;
  EXPECT_THAT(Problem(), HasError(ErrorCode::kPublicationMissing));
  info_ = healthy;
  info_.publication.publishes_insert = false;
  EXPECT_THAT(Problem(), HasError(ErrorCode::kPublicationHidesRows));
  info_ = healthy;
  info_.tables[0].oid = 0;
  EXPECT_THAT(Problem(), HasError(ErrorCode::kTableMissing, "public.outbox"));
  info_ = healthy;
  info_.tables[0].published = false;
  EXPECT_THAT(Problem(), HasError(ErrorCode::kTableNotPublished));
  info_ = healthy;
  info_.tables[0].unlogged = true;
  EXPECT_THAT(Problem(), HasError(ErrorCode::kTableUnlogged));
  info_ = healthy;
  info_.tables[0].row_filter = true;
  EXPECT_THAT(Problem(), HasError(ErrorCode::kPublicationHidesRows, "row filter"));
  info_ = healthy;
  info_.tables[0].partitioned = true;
  EXPECT_THAT(Problem(), HasError(ErrorCode::kPartitionLeaves));
  info_.publication.via_partition_root = true;
  EXPECT_THAT(Problem(), IsOk());
  info_.tables[0].published = false;
  info_.tables[0].sent_as = "public.events";
  EXPECT_THAT(Problem(), HasError(ErrorCode::kTableSentAs, "sent as public.events"));
}

TEST_F(StartPositionTest, EveryLeafThatIsNotSentIsAProblem) {
  TableInfo& table = info_.tables[0];
  table.leaves = {{.oid = table.oid, .name = "public.outbox"},
                  {.oid = 601, .name = "public.p1", .stream = LeafStream::kSent}};
  EXPECT_THAT(Problem(), IsOk());
  table.leaves[1].stream = LeafStream::kUnlogged;
  EXPECT_THAT(Problem(), HasError(ErrorCode::kTableUnlogged,
                                  "a part of public.outbox: public.p1 is unlogged"));
  for (uint32_t oid = 602; oid < 606; ++oid) {
    table.leaves.push_back(
        {.oid = oid, .name = "public.p" + std::to_string(oid), .stream = LeafStream::kOtherName});
  }
  EXPECT_THAT(Problem(), HasError(ErrorCode::kTableLeafUnsent, "and 2 others"));
}

}  // namespace
}  // namespace walrelay
