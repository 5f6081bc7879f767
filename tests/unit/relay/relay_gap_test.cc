// Gaps in the relay: it reports the gap, holds, and continues after the gap was accepted.

#include <gtest/gtest.h>

#include "fakes/relay_fixture.h"
#include "fakes/status_matchers.h"
#include "relay/relay.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RelayGapTest : public testing::RelayFixture {
 protected:
  RelayGapTest() { kafka_.auto_acknowledge = true; }
  // Another process reads the slot.
  void StartAsStandby() {
    postgres_.info.slot->active = true;
    postgres_.info.slot->active_pid = 555;
    Start();
    Pass(seconds(1));
  }
  // Streams and publishes "a"; nothing is in flight.
  void StartAndPublish() {
    Start();
    Commit("a");
    Pass(seconds(1));
    ASSERT_THAT(kafka_.Keys(), ElementsAre("a"));
  }
  void Reconnect() {
    postgres_.BreakConnection();
    Pass(seconds(2));
  }
  std::optional<Gap> Held() {
    Pass(milliseconds(250));
    return board_.Read().gap;
  }
  void ExpectHeld(ErrorCode code) {
    EXPECT_EQ(State(), RelayState::kBlocked);
    EXPECT_EQ(ShownError(), code);
    ASSERT_TRUE(Held().has_value());
    EXPECT_THAT(Held()->error, HasError(code));
    EXPECT_FALSE(board_.ready());
    EXPECT_FALSE(postgres_.streaming());
  }
  void Accept() { relay_->AcceptGap(Held()->id); }
  // A leaf of the outbox table becomes unlogged, and logged again.
  void UnlogLeaf() {
    identity().tables[0].unsent = {
        {.oid = 16500, .name = "public.leaf", .stream = LeafStream::kUnlogged}};
  }
  void LogLeaf() { identity().tables[0].unsent.clear(); }
  // The gap of an unlogged leaf is held.
  void HoldLeafGap() {
    StartAndPublish();
    Look();
    UnlogLeaf();
    Look();
    Pass(seconds(1));
    ExpectHeld(ErrorCode::kPublicationChanged);
  }
  void AcceptAndStream() {
    Accept();
    Pass(seconds(15));
    EXPECT_EQ(State(), RelayState::kStreaming);
  }
  PublicationIdentity& identity() { return postgres_.info.publication_state.identity; }
  // Another connection reads the publication now.
  void Look() {
    PublicationState look = postgres_.info.publication_state;
    look.before = look.after = postgres_.info.server.wal_end;
    relay_->OnPublicationSeen(look, clock_.Now());
  }
  // Drains the relay and starts another one with what it knew; `meanwhile` happens in between.
  void Replace(const std::function<void()>& meanwhile = {}) {
    relay_->Drain();
    Pass(minutes(1));
    ASSERT_TRUE(relay_->finished());
    memory_ = relay_->memory();
    if (meanwhile) {
      meanwhile();
    }
    Start();
    Pass(seconds(2));
  }
  void MoveSlot() {
    Commit("moved past");
    postgres_.info.slot->confirmed_flush_lsn = postgres_.info.server.wal_end;
  }
};

// --- a successor in the same process ---

TEST_F(RelayGapTest, SuccessorNoticesThatTheSlotWasMovedInBetween) {
  StartAndPublish();
  Replace([this] { MoveSlot(); });
  ExpectHeld(ErrorCode::kSlotMoved);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

TEST_F(RelayGapTest, SuccessorHoldsTheGapOfItsPredecessor) {
  StartAndPublish();
  postgres_.BreakConnection();
  Run();
  MoveSlot();
  Pass(seconds(2));
  ExpectHeld(ErrorCode::kSlotMoved);
  const std::string id = Held()->id;
  Replace();
  ExpectHeld(ErrorCode::kSlotMoved);
  EXPECT_EQ(Held()->id, id);
  Accept();
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayGapTest, SuccessorRepeatsNothingAfterADrain) {
  StartAndPublish();
  Replace();
  Commit("b");
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(RelayGapTest, SuccessorReadsAgainWhatTheDrainLeft) {
  kafka_.auto_acknowledge = false;
  Start();
  Commit("a");
  Run();
  ASSERT_EQ(kafka_.in_flight.size(), 1u);
  Replace();
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

// The server has not noticed yet that the predecessor's connection has broken.
TEST_F(RelayGapTest, SuccessorEndsTheStaleConnectionOfItsPredecessor) {
  StartAndPublish();
  Replace([this] {
    postgres_.info.slot->active = true;
    postgres_.info.slot->active_pid = testing::kOurPid;
    postgres_.info.slot->reader_started = postgres_.info.server.backend_started;
  });
  EXPECT_THAT(postgres_.terminated, ElementsAre(testing::kOurPid));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayGapTest, SuccessorDoesNotTakeItsPredecessorForAnotherInstance) {
  StartAndPublish();
  Replace([this] {
    postgres_.info.slot->active = true;
    postgres_.info.slot->active_pid = testing::kOurPid;
    postgres_.info.slot->reader_started = postgres_.info.server.backend_started;
    MoveSlot();
  });
  ExpectHeld(ErrorCode::kSlotMoved);
}

// Rows were committed since then that a new slot would not contain.
TEST_F(RelayGapTest, SuccessorDoesNotCreateASlotThatItsPredecessorSaw) {
  config_.source.create_slot = true;
  StartAsStandby();
  Replace([this] { postgres_.info.slot.reset(); });
  EXPECT_FALSE(postgres_.info.slot.has_value());
  EXPECT_EQ(ShownError(), ErrorCode::kSlotMissing);
}

TEST_F(RelayGapTest, SuccessorRepeatsNothingThatWasAcknowledgedWithoutAConnection) {
  kafka_.auto_acknowledge = false;
  Start();
  Commit("a");
  Run();
  postgres_.open_error = Error(ErrorCode::kPostgresUnreachable, "x");
  postgres_.BreakConnection();
  Run();
  kafka_.AcknowledgeAll();
  Replace([this] {
    postgres_.open_error = absl::OkStatus();
    kafka_.auto_acknowledge = true;
  });
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

// The operator has just changed the configuration, and will correct it.
TEST_F(RelayGapTest, SuccessorRetriesAnErrorThatEndsAFirstStart) {
  StartAndPublish();
  Replace([this] { postgres_.open_error = Error(ErrorCode::kNoReplicationRole, "x"); });
  EXPECT_FALSE(relay_->finished());
  postgres_.open_error = absl::OkStatus();
  Pass(seconds(20));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

// --- holding ---

TEST_F(RelayGapTest, MovedSlotIsHeldUntilTheGapIsAccepted) {
  StartAndPublish();
  const Lsn before = postgres_.confirmed();
  postgres_.BreakConnection();
  Run();
  MoveSlot();
  Pass(seconds(2));
  ExpectHeld(ErrorCode::kSlotMoved);
  const Gap gap = *Held();
  EXPECT_EQ(gap.from, before);
  EXPECT_EQ(gap.to, postgres_.confirmed());
  const size_t updates = postgres_.updates.size();
  Commit("b");
  Pass(minutes(10));
  ExpectHeld(ErrorCode::kSlotMoved);
  EXPECT_EQ(Held()->id, gap.id);
  EXPECT_EQ(postgres_.updates.size(), updates);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));

  Accept();
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_EQ(postgres_.starts.back(), gap.to);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
  EXPECT_FALSE(Held().has_value());
}

// Found by the simulator: an operator could accept a gap that another one had replaced.
TEST_F(RelayGapTest, GapIsShownInTheTurnThatFindsIt) {
  StartAndPublish();
  Pass(milliseconds(250));
  relay_->Turn();  // the status was published just now
  postgres_.info.slot.reset();
  postgres_.BreakConnection();
  const size_t opens = postgres_.opens;
  while (postgres_.opens == opens) {
    relay_->Turn();
    clock_.Advance(milliseconds(1));
  }
  EXPECT_TRUE(board_.Read().gap.has_value());
}

TEST_F(RelayGapTest, HeldRelayReconnectsInfrequently) {
  StartAndPublish();
  postgres_.info.slot.reset();
  Reconnect();
  ExpectHeld(ErrorCode::kSlotGone);
  const size_t before = postgres_.opens;
  Pass(minutes(10));
  EXPECT_LE(postgres_.opens - before, 61u);
  EXPECT_GE(postgres_.opens - before, 50u);
}

TEST_F(RelayGapTest, RecordsInFlightAreAbandoned) {
  kafka_.auto_acknowledge = false;
  Start();
  Commit("a");
  Run();
  postgres_.info.server.system_id = "7302";
  Reconnect();
  ExpectHeld(ErrorCode::kSystemChanged);
  EXPECT_THAT(kafka_.in_flight, IsEmpty());
}

// The WAL of a restored server grows past the position that it had sent before.
TEST_F(RelayGapTest, GapIsHeldAfterItIsNoLongerDetectable) {
  StartAndPublish();
  const Lsn end = postgres_.info.server.wal_end;
  postgres_.info.server.wal_end = Lsn(1010);
  postgres_.info.slot->confirmed_flush_lsn = Lsn(1005);
  Reconnect();
  ExpectHeld(ErrorCode::kServerBehind);
  EXPECT_EQ(Held()->from, Lsn(1010));
  EXPECT_EQ(Held()->to, end);
  while (postgres_.info.server.wal_end <= end) {
    Commit("again");
  }
  Pass(minutes(1));
  ExpectHeld(ErrorCode::kServerBehind);
  Accept();
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_EQ(postgres_.starts.back(), Lsn(1005));
}

// Found by the simulator: a standby may lag, so its catalog is not evidence.
TEST_F(RelayGapTest, AcceptanceHasNoEffectOnAStandby) {
  StartAndPublish();
  identity().xmin = 720;
  Reconnect();
  const Gap gap = *Held();
  postgres_.info.server.in_recovery = true;
  relay_->AcceptGap(gap.id);
  Pass(seconds(5));
  EXPECT_TRUE(Held().has_value());
  postgres_.info.server.in_recovery = false;
  identity().xmin = 730;  // changed again in the meantime
  Pass(seconds(15));
  ExpectHeld(ErrorCode::kPublicationChanged);
  EXPECT_NE(Held()->id, gap.id);
}

// Found by the simulator: the remembered position must not be used after the WAL grew past it.
TEST_F(RelayGapTest, RestoredServerIsReportedBeforeAnotherGap) {
  StartAndPublish();
  const Lsn end = postgres_.info.server.wal_end;
  postgres_.info.server.wal_end = Lsn(1010);
  postgres_.info.slot->confirmed_flush_lsn = Lsn(1005);
  identity().xmin = 720;
  Reconnect();
  ExpectHeld(ErrorCode::kServerBehind);
  while (postgres_.info.server.wal_end <= end) {
    Commit("again");
  }
  Pass(minutes(1));
  ExpectHeld(ErrorCode::kServerBehind);
  Accept();
  Pass(seconds(1));
  ExpectHeld(ErrorCode::kPublicationChanged);
  EXPECT_EQ(Held()->from, Lsn(1000));  // where the publication was read at the start
  Accept();
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_EQ(postgres_.starts.back(), Lsn(1005));
}

TEST_F(RelayGapTest, SkippedPublicationIsHeldAndConfirmsNothing) {
  Start();
  postgres_.BreakConnection(Error(ErrorCode::kPublicationSkipped, "walrelay"));
  Pass(seconds(1));
  ExpectHeld(ErrorCode::kPublicationSkipped);
  EXPECT_EQ(postgres_.confirmed(), Lsn(1000));
}

TEST_F(RelayGapTest, StandbyAtAGapIsNotReady) {
  StartAndPublish();
  postgres_.info.server.system_id = "7302";
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = 555;
  Reconnect();
  ExpectHeld(ErrorCode::kSystemChanged);
  Accept();
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStandby);
}

TEST_F(RelayGapTest, StopsAtOnceWhileHolding) {
  StartAndPublish();
  postgres_.info.slot.reset();
  Reconnect();
  ExpectHeld(ErrorCode::kSlotGone);
  relay_->Drain();
  Run();
  EXPECT_TRUE(relay_->finished());
  EXPECT_THAT(relay_->result(), IsOk());
}

// --- accepting ---

TEST_F(RelayGapTest, AcceptanceOfAnotherGapChangesNothing) {
  StartAndPublish();
  postgres_.info.slot.reset();
  Reconnect();
  ExpectHeld(ErrorCode::kSlotGone);
  relay_->AcceptGap("2107-00000000");
  Pass(minutes(1));
  ExpectHeld(ErrorCode::kSlotGone);
}

TEST_F(RelayGapTest, AcceptanceDoesNotCoverALaterChange) {
  StartAndPublish();
  postgres_.BreakConnection();
  Run();
  MoveSlot();
  Pass(seconds(2));
  ExpectHeld(ErrorCode::kSlotMoved);
  const std::string id = Held()->id;
  MoveSlot();
  relay_->AcceptGap(id);
  Pass(seconds(1));
  ExpectHeld(ErrorCode::kSlotMoved);
  EXPECT_NE(Held()->id, id);
  EXPECT_EQ(Held()->to, postgres_.confirmed());
  Accept();
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayGapTest, AcceptedLossOfTheSlotWaitsForANewSlotAndCreatesNone) {
  config_.source.create_slot = true;
  StartAndPublish();
  postgres_.info.slot.reset();
  Reconnect();
  ExpectHeld(ErrorCode::kSlotGone);
  Accept();
  Pass(minutes(1));
  EXPECT_FALSE(postgres_.info.slot.has_value());
  EXPECT_FALSE(Held().has_value());
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kSlotMissing);
  Commit("lost");
  ASSERT_THAT(postgres_.CreateSlot(), IsOk());
  const Lsn created = postgres_.confirmed();
  Commit("b");
  Pass(seconds(15));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_EQ(postgres_.starts.back(), created);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
}

// The server was restored together with a slot that is ahead of its WAL.
TEST_F(RelayGapTest, AcceptedRestoreWaitsForASlotThatIsNotAheadOfTheWal) {
  StartAndPublish();
  postgres_.info.server.wal_end = Lsn(postgres_.confirmed().value() - 100);
  Reconnect();
  ExpectHeld(ErrorCode::kServerBehind);
  Accept();
  Pass(minutes(1));
  EXPECT_FALSE(Held().has_value());
  EXPECT_EQ(ShownError(), ErrorCode::kSlotUnusable);
  postgres_.info.slot.reset();
  Pass(seconds(15));
  EXPECT_FALSE(Held().has_value());
  EXPECT_EQ(ShownError(), ErrorCode::kSlotMissing);
  ASSERT_THAT(postgres_.CreateSlot(), IsOk());
  Pass(seconds(15));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayGapTest, AcceptedInvalidationWaitsForANewSlot) {
  StartAndPublish();
  postgres_.info.slot->wal_status = "lost";
  Reconnect();
  ExpectHeld(ErrorCode::kSlotLost);
  Accept();
  Pass(minutes(1));
  EXPECT_FALSE(Held().has_value());
  EXPECT_EQ(ShownError(), ErrorCode::kSlotUnusable);
  ASSERT_THAT(postgres_.CreateSlot(), IsOk());
  Pass(seconds(15));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayGapTest, SlotRecreatedBeforeTheAcceptanceIsAnotherGap) {
  StartAndPublish();
  const Lsn before = postgres_.confirmed();
  postgres_.info.slot.reset();
  Reconnect();
  const std::string gone = Held()->id;
  Commit("lost");
  ASSERT_THAT(postgres_.CreateSlot(), IsOk());
  Pass(seconds(15));
  ExpectHeld(ErrorCode::kSlotMoved);
  EXPECT_NE(Held()->id, gone);
  EXPECT_EQ(Held()->from, before);
  EXPECT_EQ(Held()->to, postgres_.confirmed());
  relay_->AcceptGap(gone);
  Pass(seconds(15));
  ExpectHeld(ErrorCode::kSlotMoved);
}

TEST_F(RelayGapTest, AcceptedChangeOfSystemDoesNotCoverTheNextChange) {
  StartAndPublish();
  postgres_.info.server.system_id = "7302";
  Reconnect();
  Accept();
  Pass(seconds(1));
  ASSERT_EQ(State(), RelayState::kStreaming);
  postgres_.info.server.system_id = "7303";
  Reconnect();
  ExpectHeld(ErrorCode::kSystemChanged);
}

// --- the publication ---

TEST_F(RelayGapTest, TableRemovedAndAddedAgainIsAGapWithARange) {
  StartAndPublish();
  Look();
  const Lsn good = postgres_.info.server.wal_end;
  Commit("hidden");
  identity().tables[0].memberships = {{16555, 710}};
  const Lsn now = postgres_.info.server.wal_end;
  const size_t updates = postgres_.updates.size();
  Look();
  Pass(seconds(1));
  ExpectHeld(ErrorCode::kPublicationChanged);
  EXPECT_EQ(Held()->from, good);
  EXPECT_EQ(Held()->to, now);
  EXPECT_EQ(postgres_.updates.size(), updates);
  Accept();
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
  Look();
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayGapTest, ChangeWhileDisconnectedIsFoundWithoutTheSampler) {
  StartAndPublish();
  identity().xmin = 720;
  Reconnect();
  ExpectHeld(ErrorCode::kPublicationChanged);
  EXPECT_EQ(Held()->from, Lsn(1000));  // where the publication was read at the start
}

TEST_F(RelayGapTest, PublicationReadBeforeTheConnectionIsNotCompared) {
  StartAndPublish();
  const MonoTime before = clock_.Now();
  const PublicationState old = postgres_.info.publication_state;
  Pass(seconds(1));
  identity().tables[0].memberships = {{16555, 710}};
  Reconnect();
  ExpectHeld(ErrorCode::kPublicationChanged);
  Accept();
  Pass(seconds(1));
  relay_->OnPublicationSeen(old, before);
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

// The sampler's connection may be to another server.
TEST_F(RelayGapTest, ChangeNotSeenOnTheReplicationConnectionIsNoGap) {
  postgres_.answers_pings = true;
  StartAndPublish();
  PublicationState elsewhere = postgres_.info.publication_state;
  elsewhere.identity.xmin = 999;
  for (int i = 0; i < 20; ++i) {
    relay_->OnPublicationSeen(elsewhere, clock_.Now());
    Pass(seconds(5));
    EXPECT_EQ(State(), RelayState::kStreaming);
  }
  EXPECT_LE(postgres_.starts.size(), 2u);
}

// Rows are hidden while the table is unpublished: the end of the gap is not known yet.
TEST_F(RelayGapTest, GapCannotBeAcceptedWhileTheTableIsUnpublished) {
  StartAndPublish();
  Look();
  identity().tables[0].memberships.clear();
  postgres_.info.tables[0].published = false;
  Look();
  Pass(seconds(1));
  ExpectHeld(ErrorCode::kPublicationChanged);
  const Gap first = *Held();
  Commit("hidden");
  Accept();
  Pass(minutes(1));
  ExpectHeld(ErrorCode::kPublicationChanged);
  EXPECT_FALSE(board_.Read().gap_accepted);
  EXPECT_NE(board_.Read().waits_for.find("WR-2303"), std::string::npos);
  EXPECT_GT(Held()->to, first.to);
  identity().tables[0].memberships = {{16555, 710}};
  postgres_.info.tables[0].published = true;
  Pass(seconds(15));
  ExpectHeld(ErrorCode::kPublicationChanged);
  EXPECT_NE(Held()->id, first.id);
  EXPECT_EQ(Held()->from, first.from);
  AcceptAndStream();
}

// A leaf that is logged again leaves no trace in the catalog.
TEST_F(RelayGapTest, RowsHiddenByAnUnloggedLeafAreAGapUpToItsReturn) {
  HoldLeafGap();
  const Gap first = *Held();
  Commit("hidden");
  LogLeaf();
  Pass(seconds(15));
  ExpectHeld(ErrorCode::kPublicationChanged);
  EXPECT_EQ(Held()->from, first.from);
  EXPECT_EQ(Held()->to, postgres_.info.server.wal_end);
  EXPECT_NE(Held()->id, first.id);
  AcceptAndStream();
}

TEST_F(RelayGapTest, AnotherGapDoesNotCoverRowsThatAnUnloggedLeafHid) {
  HoldLeafGap();
  LogLeaf();
  MoveSlot();
  Pass(seconds(15));
  ExpectHeld(ErrorCode::kSlotMoved);
  Accept();
  Pass(seconds(15));
  ExpectHeld(ErrorCode::kPublicationChanged);
  AcceptAndStream();
}

TEST_F(RelayGapTest, AcceptedPublicationChangeDoesNotCoverAMovedSlot) {
  StartAndPublish();
  Look();
  identity().tables[0].memberships = {{16555, 710}};
  postgres_.BreakConnection();
  Run();
  MoveSlot();
  Pass(seconds(2));
  ExpectHeld(ErrorCode::kPublicationChanged);
  Accept();
  Pass(seconds(2));
  ExpectHeld(ErrorCode::kSlotMoved);
}

// Found by the simulator: every removal yields the same identity, without a membership.
TEST_F(RelayGapTest, TableRemovedASecondTimeIsAnotherGap) {
  StartAndPublish();
  for (const uint32_t oid : {16555u, 16556u}) {
    identity().tables[0].memberships.clear();
    postgres_.info.tables[0].published = false;
    Look();
    Pass(seconds(1));
    ExpectHeld(ErrorCode::kPublicationChanged);
    identity().tables[0].memberships = {{oid, 710}};
    postgres_.info.tables[0].published = true;
    Pass(seconds(15));
    Accept();
    Pass(seconds(1));
    ASSERT_EQ(State(), RelayState::kStreaming);
  }
}

TEST_F(RelayGapTest, StandbyReportsNoGapWhileAnotherProcessReadsTheSlot) {
  StartAsStandby();
  identity().tables[0].memberships = {{16555, 710}};
  Look();
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStandby);
  postgres_.info.slot->active = false;
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayGapTest, StandbyThatIsInterruptedReportsNoError) {
  StartAsStandby();
  postgres_.inspect_error = absl::CancelledError("the process is stopping");
  postgres_.open_error = postgres_.inspect_error;
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStandby);
  EXPECT_EQ(ShownError(), ErrorCode{});
  postgres_.inspect_error = postgres_.open_error = absl::OkStatus();
  postgres_.info.slot->active = false;
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayGapTest, StandbyDetectsEarlierPublicationChangeOnTakeover) {
  StartAsStandby();
  Look();
  identity().tables[0].memberships = {{16555, 710}};
  postgres_.info.slot->active = false;
  Pass(seconds(1));
  ExpectHeld(ErrorCode::kPublicationChanged);
}

TEST_F(RelayGapTest, ChangeBeforeTheFirstStreamIsNoGap) {
  postgres_.open_error = Error(ErrorCode::kPostgresUnreachable, "unreachable");
  Start();
  Look();
  identity().xmin = 720;
  Look();
  postgres_.open_error = absl::OkStatus();
  Pass(seconds(15));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

// --- after a change of the configuration ---

TEST_F(RelayGapTest, TableThatIsAddedToTheConfigurationIsNoChange) {
  StartAndPublish();
  Replace([this] {
    identity().tables.push_back(
        {.name = "public.second", .oid = 600, .memberships = {{16409, 700}}});
  });
  EXPECT_EQ(State(), RelayState::kStreaming);
  Replace([this] { identity().tables.erase(identity().tables.begin()); });
  EXPECT_EQ(State(), RelayState::kStreaming);
  Reconnect();
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayGapTest, ChangeOfATableIsNoticedAlthoughOthersWereAdded) {
  StartAndPublish();
  Replace([this] {
    identity().tables.insert(identity().tables.begin(),
                             {.name = "public.second", .oid = 600, .memberships = {{16409, 700}}});
    identity().tables.back().memberships = {{16555, 710}};
  });
  ExpectHeld(ErrorCode::kPublicationChanged);
}

TEST_F(RelayGapTest, AnotherPublicationIsNotCompared) {
  StartAndPublish();
  Replace([this] {
    config_.source.publication = "other";
    identity().oid = 16500;
    identity().tables[0].memberships = {{16501, 710}};
  });
  EXPECT_EQ(State(), RelayState::kStreaming);
  Replace([this] {
    MoveSlot();
    config_.source.publication = "third";
  });
  ExpectHeld(ErrorCode::kSlotMoved);
}

// --- between reading the slot and acquiring it ---

TEST_F(RelayGapTest, ASlotThatIsMovedWhileTheStreamStarts) {
  StartAndPublish();
  postgres_.before_start = [this] { MoveSlot(); };
  Reconnect();
  ExpectHeld(ErrorCode::kSlotMoved);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

TEST_F(RelayGapTest, ASlotThatIsMovedWhileTheFirstStreamStarts) {
  postgres_.before_start = [this] { MoveSlot(); };
  Start();
  Pass(seconds(2));
  EXPECT_TRUE(postgres_.streaming());
  EXPECT_EQ(postgres_.starts.back(), postgres_.confirmed());
}

// --- at the operator's limit ---

TEST_F(RelayGapTest, SlotIsDroppedAtTheLimitAlsoWhileAGapIsHeld) {
  config_.source.max_retained_wal = 5'000;
  config_.source.on_retained_limit = OnRetainedLimit::kDropSlot;
  postgres_.info.server.wal_end = postgres_.info.slot->restart_lsn =
      postgres_.info.slot->confirmed_flush_lsn = Lsn(100'000);
  StartAndPublish();
  identity().xmin = 720;
  Reconnect();
  ExpectHeld(ErrorCode::kPublicationChanged);
  postgres_.info.slot->restart_lsn = Lsn(90'000);
  Pass(seconds(15));
  EXPECT_EQ(postgres_.drops, 1u);
  ExpectHeld(ErrorCode::kSlotDropped);
  Pass(minutes(1));
  ExpectHeld(ErrorCode::kSlotDropped);
}

}  // namespace
}  // namespace walrelay
