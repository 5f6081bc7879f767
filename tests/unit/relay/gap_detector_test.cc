// Gaps across restarts and between two instances: what the progress record alone shows.

#include "relay/gap_detector.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fakes/fake_clock.h"
#include "fakes/fake_postgres.h"
#include "fakes/status_matchers.h"
#include "stream/history_check.h"
#include "stream/progress_record.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

class GapDetectorTest : public ::testing::Test {
 protected:
  GapDetectorTest() {
    record_ = ProgressFrom(config_.source, config_.pipeline, postgres_.info);
    record_.last = {.commit_lsn = Lsn(900), .xid = 7, .commit_time = WallTime(Micros(1))};
    record_.settled_before = record_.last.behind();
    Restart();
  }
  // Another process, which knows only the record.
  void Restart() {
    tracker_ = AckTracker();
    was_read_ = false;
    gaps_ = std::make_unique<GapDetector>(config_.source, clock_, tracker_);
  }
  // One connection.
  absl::Status Connect() {
    if (!std::exchange(was_read_, true) || gaps_->held() || !gaps_->IsWhereLeft(info())) {
      gaps_->Recall(record_, CheckOwner(record_, config_.source, config_.pipeline, info().server),
                    "");
    }
    gaps_->OnRecorded(record_);
    const absl::Status gap = gaps_->Check(info(), /*others_slot=*/false);
    if (!gap.ok() && ReactionTo(gap) == Reaction::kGap) {
      gaps_->Hold(gap);
    }
    return gap;
  }
  absl::Status Accept() {
    gaps_->Accept(gaps_->held()->id);
    return Connect();
  }
  // The server was restored to an older state, and the record names no transaction. An operator
  // accepts the gap; then another instance takes the slot.
  void AcceptRestoredServer() {
    record_.last = {};
    info().server.wal_end = info().slot->confirmed_flush_lsn = Lsn(300);
    ASSERT_THAT(Connect(), HasError(ErrorCode::kServerBehind));
    ASSERT_THAT(Accept(), IsOk());
    gaps_->OnSlotTaken();
  }
  // A stream from the slot's position, which has published everything up to the COMMIT at `last`.
  SourceMemory StreamAndRemember(Lsn last) {
    info().server.wal_end = Lsn(3000);
    EXPECT_THAT(Connect(), IsOk());
    const auto decision = DecideStart(gaps_->last_stream(), info());
    EXPECT_THAT(decision.status(), IsOk());
    gaps_->OnStreamStarted(info(), *decision);
    gaps_->SaveResumeState();
    SourceMemory memory = gaps_->memory();
    memory.last_stream->last_published = {
        .commit_lsn = last, .xid = 8, .commit_time = WallTime(Micros(2))};
    return memory;
  }
  // A relay that was replaced by another one in the process.
  void Succeed(const SourceMemory& memory) {
    Restart();
    gaps_->Restore(memory);
  }
  SourceInfo& info() { return postgres_.info; }

  testing::FakeClock clock_;
  testing::FakePostgres postgres_{clock_};
  Config config_;
  AckTracker tracker_;
  Progress record_;
  bool was_read_ = false;  // by this process
  std::unique_ptr<GapDetector> gaps_;
};

// --- another Kafka cluster

TEST_F(GapDetectorTest, AnotherClusterIsHeldUntilItIsAccepted) {
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_THAT(gaps_->OnCluster(""), IsOk());
  EXPECT_THAT(gaps_->OnCluster("first"), IsOk());
  EXPECT_THAT(gaps_->OnCluster(""), IsOk());
  EXPECT_THAT(gaps_->OnCluster("second"), HasError(ErrorCode::kClusterChanged, "second"));
  // Also one that was there for a moment: records may have been acknowledged by it.
  EXPECT_THAT(gaps_->OnCluster("first"), HasError(ErrorCode::kClusterChanged));
  EXPECT_THAT(Connect(), HasError(ErrorCode::kClusterChanged));
  EXPECT_THAT(Accept(), IsOk());
  EXPECT_THAT(gaps_->OnCluster("second"), IsOk());
  EXPECT_THAT(gaps_->OnCluster("first"), HasError(ErrorCode::kClusterChanged, "first"));
}

// A gap of the server takes precedence, but its acceptance does not say that consumers have moved.
TEST_F(GapDetectorTest, AnotherClusterIsHeldAfterAGapThatHidIt) {
  record_.cluster_id = "first";
  info().server.system_id = "7302";
  ASSERT_THAT(Connect(), HasError(ErrorCode::kSystemChanged));
  (void)gaps_->OnCluster("second");
  EXPECT_THAT(Accept(), HasError(ErrorCode::kClusterChanged, "first"));
  EXPECT_THAT(Accept(), IsOk());
  EXPECT_THAT(gaps_->OnCluster("second"), IsOk());
}

// The record of the other cluster does not have the gap: it would be forgotten.
TEST_F(GapDetectorTest, AGapThatIsHeldIsDecidedBeforeAnotherCluster) {
  ASSERT_THAT(Connect(), IsOk());
  ASSERT_THAT(gaps_->OnCluster("first"), IsOk());
  info().slot.reset();
  ASSERT_THAT(Connect(), HasError(ErrorCode::kSlotGone));
  (void)gaps_->OnCluster("second");
  EXPECT_THAT(Connect(), HasError(ErrorCode::kSlotGone));
  EXPECT_THAT(Accept(), HasError(ErrorCode::kClusterChanged));
}

TEST_F(GapDetectorTest, TheRelayThatFollowsAcceptsTheClusterOnce) {
  ASSERT_THAT(gaps_->OnCluster("first"), IsOk());
  const SourceMemory streamed = StreamAndRemember(Lsn(1500));
  (void)gaps_->OnCluster("second");
  ASSERT_THAT(Connect(), HasError(ErrorCode::kClusterChanged));
  SourceMemory memory = gaps_->memory();
  memory.last_stream = streamed.last_stream;
  Succeed(memory);
  EXPECT_THAT(Connect(), HasError(ErrorCode::kClusterChanged));
  EXPECT_THAT(Accept(), IsOk());
  EXPECT_THAT(gaps_->OnCluster("second"), IsOk());
}

TEST_F(GapDetectorTest, TheClusterOfTheRecordIsRemembered) {
  record_.cluster_id = "first";
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_THAT(gaps_->OnCluster("second"), HasError(ErrorCode::kClusterChanged, "first"));
}

TEST_F(GapDetectorTest, TheRelayThatFollowsKnowsTheCluster) {
  ASSERT_THAT(gaps_->OnCluster("first"), IsOk());
  Succeed(StreamAndRemember(Lsn(1500)));
  EXPECT_THAT(gaps_->OnCluster("second"), HasError(ErrorCode::kClusterChanged));
}

// --- a gap that is held while the process restarts

struct LastingGap {
  std::string name;
  ErrorCode code;
  void (*happen)(SourceInfo& info, Progress& record);
};

class LastingGapTest : public GapDetectorTest, public ::testing::WithParamInterface<LastingGap> {};

TEST_P(LastingGapTest, IsFoundByEachProcess) {
  GetParam().happen(info(), record_);
  for (int process = 0; process < 4; ++process) {
    Restart();
    EXPECT_THAT(Connect(), HasError(GetParam().code)) << "process " << process;
    EXPECT_THAT(Connect(), HasError(GetParam().code)) << "process " << process;
    ASSERT_TRUE(gaps_->held().has_value());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Gaps, LastingGapTest,
    ::testing::Values(
        LastingGap{"SlotLost", ErrorCode::kSlotLost,
                   [](SourceInfo& source, Progress&) { source.slot->wal_status = "lost"; }},
        LastingGap{"SlotAheadOfLog", ErrorCode::kSlotAheadOfLog,
                   [](SourceInfo& source, Progress&) {
                     source.slot->confirmed_flush_lsn = Lsn(source.server.wal_end.value() + 1);
                   }},
        LastingGap{"SlotMoved", ErrorCode::kSlotMoved,
                   [](SourceInfo& source, Progress&) {
                     source.server.wal_end = Lsn(3000);
                     source.slot->confirmed_flush_lsn = Lsn(2000);
                   }},
        // Also one that was dropped at its limit: WR-2109 is known only to the process.
        LastingGap{"SlotGone", ErrorCode::kSlotGone,
                   [](SourceInfo& source, Progress&) { source.slot.reset(); }},
        LastingGap{"ProgressUnproven", ErrorCode::kProgressUnproven,
                   [](SourceInfo& source, Progress& record) {
                     record.last = {};
                     record.settled_before = record.frontier = Lsn(950);
                     source.slot->confirmed_flush_lsn = Lsn(900);
                   }},
        LastingGap{"SystemChanged", ErrorCode::kSystemChanged,
                   [](SourceInfo& source, Progress&) { source.server.system_id = "7302"; }},
        LastingGap{"ServerBehind", ErrorCode::kServerBehind,
                   [](SourceInfo& source, Progress&) {
                     source.server.wal_end = source.slot->confirmed_flush_lsn = Lsn(800);
                   }},
        LastingGap{"TimelineChanged", ErrorCode::kTimelineChanged,
                   [](SourceInfo&, Progress& record) { record.timeline = 2; }},
        LastingGap{"ProgressForeign", ErrorCode::kProgressForeign,
                   [](SourceInfo&, Progress& record) { record.pipeline = "other"; }}),
    [](const auto& param) { return param.param.name; });

// The stream finds it: nothing is published before it has contained the last transaction.
TEST_F(GapDetectorTest, ARestoredServerThatHasGrownIsFoundByEachStream) {
  info().server.wal_end = Lsn(3000);
  info().slot->confirmed_flush_lsn = Lsn(800);
  for (int process = 0; process < 4; ++process) {
    Restart();
    ASSERT_THAT(Connect(), IsOk());
    const auto decision = DecideStart(gaps_->last_stream(), info());
    ASSERT_THAT(decision.status(), IsOk());
    EXPECT_EQ(decision->expected, record_.last);
    gaps_->OnStreamStarted(info(), *decision);
    gaps_->SaveResumeState();
  }
}

// Another instance may publish meanwhile.
TEST_F(GapDetectorTest, TheRecordIsReadUntilAStreamHasBegun) {
  EXPECT_FALSE(gaps_->IsWhereLeft(info()));
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_FALSE(gaps_->IsWhereLeft(info()));
  gaps_->OnStreamStarted(info(), *DecideStart(gaps_->last_stream(), info()));
  EXPECT_TRUE(gaps_->IsWhereLeft(info()));
}

// Also by an instance that was not seen.
TEST_F(GapDetectorTest, TheRecordIsReadUnlessTheSlotIsWhereTheStreamLeftIt) {
  StreamAndRemember(/*last=*/Lsn(1500));
  ASSERT_TRUE(gaps_->IsWhereLeft(info()));
  const SourceInfo left = info();
  const std::vector<std::function<void(SourceInfo&)>> differences = {
      [](SourceInfo& info) { info.slot.reset(); },
      [](SourceInfo& info) { info.slot->confirmed_flush_lsn = Lsn(2001); },
      [](SourceInfo& info) { info.server.timeline = 2; },
      [](SourceInfo& info) { info.server.system_id = "another"; }};
  for (const auto& differ : differences) {
    SourceInfo other = left;
    differ(other);
    EXPECT_FALSE(gaps_->IsWhereLeft(other));
  }
  gaps_->OnSlotTaken();
  EXPECT_FALSE(gaps_->IsWhereLeft(left));
}

// --- what the record says of the publication, and of xids

TEST_F(GapDetectorTest, AChangeOfThePublicationWhileNoProcessRanIsFound) {
  record_.seen_publication = SeenPublication{config_.source.publication, info().publication_state};
  Restart();
  ASSERT_THAT(Connect(), IsOk());
  ++info().publication_state.identity.xmin;
  Restart();
  ASSERT_THAT(Connect(), HasError(ErrorCode::kPublicationChanged, "the publication was altered"));
  EXPECT_EQ(gaps_->held()->from, record_.seen_publication->state.before);
  // The record of the generation before does not undo the acceptance.
  EXPECT_THAT(Accept(), IsOk());
  EXPECT_THAT(Connect(), IsOk());
  EXPECT_EQ(gaps_->seen_publication()->state.identity.xmin, info().publication_state.identity.xmin);
}

// Nothing shows when the rows were visible again: a leaf that is logged leaves no trace.
TEST_F(GapDetectorTest, ARecordedGapOfThePublicationEndsNow) {
  record_.held = HeldGap{.code = ErrorCode::kPublicationChanged,
                         .id = "2110-1",
                         .reason = "public.outbox_p1 is unlogged",
                         .from = Lsn(900),
                         .to = Lsn(950)};
  info().publication_state.after = Lsn(1000);
  Restart();
  ASSERT_THAT(Connect(), HasError(ErrorCode::kPublicationChanged));
  EXPECT_EQ(gaps_->held()->id, "2110-1");
  EXPECT_EQ(gaps_->held()->from, Lsn(900));
  EXPECT_EQ(gaps_->held()->to, Lsn(1000));
}

// No stream may start for long, and the record of `progress init` does not have it.
TEST_F(GapDetectorTest, ThePublicationIsKnownWhileAGapIsHeld) {
  info().slot.reset();
  ASSERT_THAT(Connect(), HasError(ErrorCode::kSlotGone));
  EXPECT_TRUE(gaps_->seen_publication().has_value());
  ++info().publication_state.identity.xmin;
  EXPECT_THAT(Accept(), HasError(ErrorCode::kPublicationChanged));
}

// The audit line names what is missing when the acceptance is applied.
TEST_F(GapDetectorTest, AGapOfThePublicationGrowsUntilItsAcceptanceIsApplied) {
  record_.seen_publication = SeenPublication{config_.source.publication, info().publication_state};
  ++info().publication_state.identity.xmin;
  info().publication_state.after = Lsn(1000);
  Restart();
  ASSERT_THAT(Connect(), HasError(ErrorCode::kPublicationChanged));
  const std::string id = gaps_->held()->id;
  ASSERT_EQ(gaps_->held()->to, Lsn(1000));
  info().publication_state.after = Lsn(1100);
  EXPECT_THAT(gaps_->Check(info(), /*others_slot=*/false),
              HasError(ErrorCode::kPublicationChanged));
  EXPECT_EQ(gaps_->held()->id, id);
  EXPECT_EQ(gaps_->held()->to, Lsn(1100));
}

// The operator has not seen how much is lost with the slot.
TEST_F(GapDetectorTest, AnAcceptanceThatWaitsDoesNotIncludeASlotThatIsDropped) {
  info().slot->confirmed_flush_lsn = info().server.wal_end = Lsn(3000);
  ASSERT_THAT(Connect(), HasError(ErrorCode::kSlotMoved));
  ASSERT_TRUE(gaps_->Accept(gaps_->held()->id));
  EXPECT_TRUE(gaps_->accepted());
  gaps_->OnDropping(Error(ErrorCode::kSlotDropped, "limit"));
  EXPECT_FALSE(gaps_->accepted());
}

TEST_F(GapDetectorTest, AnotherPublicationIsNotCompared) {
  record_.seen_publication = SeenPublication{"another", info().publication_state};
  ++info().publication_state.identity.oid;
  Restart();
  EXPECT_THAT(Connect(), IsOk());
}

// The instance that reads the slot has ended without having seen the change, and this one has read
// the publication only after it.
TEST_F(GapDetectorTest, AChangeWhileAnotherInstanceReadTheSlotIsFound) {
  record_.seen_publication = SeenPublication{config_.source.publication, info().publication_state};
  ++info().publication_state.identity.xmin;
  gaps_->RememberPublication(info());
  gaps_->OnSlotTaken();
  EXPECT_THAT(Connect(), HasError(ErrorCode::kPublicationChanged));
}

TEST_F(GapDetectorTest, AServerThatAssignsXidsAgainWasRestored) {
  ASSERT_THAT(Connect(), IsOk());
  record_.horizons = {{.xid = 900, .insert_lsn = Lsn(800), .taken = WallTime()},
                      {.xid = 1000, .insert_lsn = Lsn(900), .taken = WallTime()}};
  for (const uint64_t next : {uint64_t{0}, uint64_t{1000}, uint64_t{1001}}) {
    info().server.next_xid = next;
    EXPECT_THAT(Connect(), IsOk());
  }
  info().server.next_xid = 999;
  ASSERT_THAT(Connect(), HasError(ErrorCode::kServerBehind, "xid 999, but all before 1000"));
  EXPECT_THAT(Accept(), IsOk());
  EXPECT_THAT(Connect(), IsOk());
}

// Behind a fork, the promoted server assigns them again.
TEST_F(GapDetectorTest, XidsOfAnotherTimelineAreNotCompared) {
  ASSERT_THAT(Connect(), IsOk());
  record_.horizons = {{.xid = 1000, .insert_lsn = Lsn(900), .taken = WallTime()}};
  info().server.ancestors = {{.timeline = info().server.timeline, .end = Lsn(2000)}};
  ++info().server.timeline;
  info().server.next_xid = 990;
  EXPECT_THAT(Connect(), IsOk());
}

// --- two instances that accept the same gap

// The server was restored to an older state, and has grown since. The other instance has accepted
// the gap, too, and has read the slot, but has recorded nothing: the record is still the one of
// before, which names no transaction that the stream would have to contain.
TEST_F(GapDetectorTest, ARecordFromBeforeTheAcceptanceDoesNotCountAlthoughItsWriterIsSeen) {
  AcceptRestoredServer();
  info().server.wal_end = Lsn(3000);
  ASSERT_THAT(Connect(), IsOk());
  const auto decision = DecideStart(gaps_->last_stream(), info());
  ASSERT_THAT(decision.status(), IsOk());
  EXPECT_EQ(decision->position, Lsn(300));
  EXPECT_LE(decision->published_before, Lsn(300));
  EXPECT_EQ(gaps_->generation(), 1u);
}

TEST_F(GapDetectorTest, AReplacedRelayRemembersWhichRecordsItsAcceptanceReplaced) {
  AcceptRestoredServer();
  Succeed(gaps_->memory());
  info().server.wal_end = Lsn(3000);
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_EQ(gaps_->last_stream()->frontier, Lsn(300));
}

// Its reader can have confirmed only what it has recorded.
TEST_F(GapDetectorTest, ASlotThatIsMovedWhileItsReaderHasRecordedNothingIsAGap) {
  AcceptRestoredServer();
  info().server.wal_end = Lsn(3000);
  info().slot->confirmed_flush_lsn = Lsn(400);
  EXPECT_THAT(Connect(), HasError(ErrorCode::kSlotMoved));
}

// Its reader had accepted fewer gaps.
TEST_F(GapDetectorTest, ARecordOfTheReaderOfTheAwaitedSlotCounts) {
  const std::optional<SlotInfo> slot = std::exchange(info().slot, std::nullopt);
  ASSERT_THAT(Connect(), HasError(ErrorCode::kSlotGone));
  ASSERT_THAT(Accept(), IsOk());
  info().slot = slot;
  info().server.wal_end = Lsn(3000);
  gaps_->OnSlotTaken();
  record_.frontier = Lsn(2500);
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_EQ(gaps_->last_stream()->frontier, Lsn(2500));
}

// --- a relay that continues with the memory of its predecessor

// The predecessor has streamed from the promoted server, and has not recorded anything there.
TEST_F(GapDetectorTest, ASuccessorKnowsWhatWasPublishedBehindAPromotion) {
  info().server.timeline = 2;
  info().server.ancestors = {{1, Lsn(2000)}};
  Succeed(StreamAndRemember(/*last=*/Lsn(2400)));
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_EQ(gaps_->last_stream()->timeline, 2u);
  EXPECT_EQ(gaps_->last_stream()->stream()->last_handled.commit_lsn, Lsn(2400));
}

TEST_F(GapDetectorTest, ASuccessorContinuesWithWhatAnotherInstanceHasRecorded) {
  Succeed(StreamAndRemember(/*last=*/Lsn(1500)));
  record_.frontier = Lsn(2500);
  record_.last.commit_lsn = Lsn(2400);
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_EQ(gaps_->last_stream()->frontier, Lsn(2500));
  EXPECT_EQ(gaps_->last_stream()->last_published, record_.last);
}

// The last stream ended before it came back to the frontier that was recorded.
TEST_F(GapDetectorTest, ASuccessorOfAStreamThatEndedEarlyKnowsTheRecord) {
  record_.frontier = Lsn(2500);
  record_.last.commit_lsn = Lsn(2400);
  Succeed(StreamAndRemember(/*last=*/Lsn(2400)));
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_EQ(gaps_->last_stream()->stream()->last_handled.commit_lsn, Lsn(2400));
  EXPECT_EQ(gaps_->last_stream()->record(), nullptr);
}

// --- records of another instance

// It has published nothing, and has confirmed other traffic.
TEST_F(GapDetectorTest, ASlotThatAnotherInstanceMovedWithoutEventsIsNoGap) {
  Succeed(StreamAndRemember(/*last=*/Lsn(1500)));
  gaps_->OnSlotTaken();
  record_.frontier = info().slot->confirmed_flush_lsn = Lsn(2500);
  record_.last.commit_lsn = Lsn(1500);
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_EQ(gaps_->last_stream()->frontier, Lsn(2500));
}

// Another instance did not have the gap, and has recorded more since: its record says what is
// published.
TEST_F(GapDetectorTest, ALaterRecordOfTheWriterCountsAlthoughItsGenerationIsLower) {
  info().server.wal_end = Lsn(3000);
  info().slot->confirmed_flush_lsn = Lsn(2000);
  ASSERT_THAT(Connect(), HasError(ErrorCode::kSlotMoved));
  ASSERT_THAT(Accept(), IsOk());
  gaps_->OnSlotTaken();
  record_.frontier = Lsn(2500);
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_EQ(gaps_->last_stream()->frontier, Lsn(2500));
  EXPECT_EQ(gaps_->generation(), 1u);
}

// The other instance has accepted the gap before this one, and has published since.
TEST_F(GapDetectorTest, ARecordFromAfterTheAcceptanceOfAnotherInstanceCounts) {
  info().server.wal_end = Lsn(3000);
  info().slot->confirmed_flush_lsn = Lsn(2000);
  ASSERT_THAT(Connect(), HasError(ErrorCode::kSlotMoved));
  record_.generation = 1;
  record_.frontier = Lsn(2500);
  ASSERT_THAT(Accept(), IsOk());
  gaps_->OnSlotTaken();
  ASSERT_THAT(Connect(), IsOk());
  EXPECT_EQ(gaps_->last_stream()->frontier, Lsn(2500));
}

}  // namespace
}  // namespace walrelay
