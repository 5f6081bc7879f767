// The relay between a fake Postgres and a fake Kafka, on a fake clock.

#include "relay/relay.h"

#include <gtest/gtest.h>

#include <functional>

#include "fakes/relay_fixture.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::FakeRow;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using RelayTest = testing::RelayFixture;

// --- confirming ---

TEST_F(RelayTest, PublishesCommittedEventsAndConfirmsAcknowledgedOnes) {
  Start();
  const Lsn before = postgres_.confirmed();
  const Lsn end = Commit("a");
  Run();
  EXPECT_EQ(kafka_.in_flight.size(), 1u);
  Pass(seconds(15));
  EXPECT_EQ(postgres_.confirmed(), before);
  kafka_.AcknowledgeAll();
  Pass(milliseconds(150));
  EXPECT_EQ(postgres_.confirmed(), end);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

// --- losing Postgres ---

TEST_F(RelayTest, RecordsInFlightAreNotSentAgainAfterAReconnect) {
  Start();
  const Lsn confirmed = postgres_.confirmed();
  Commit("a");
  Run();
  postgres_.BreakConnection();
  Pass(seconds(1));
  EXPECT_EQ(postgres_.starts.back(), confirmed);
  EXPECT_EQ(kafka_.producers, 1);
  kafka_.AcknowledgeAll();
  Commit("b");
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(RelayTest, ServerThatWasRestoredAndHasGrownSinceIsNoticed) {
  kafka_.auto_acknowledge = true;
  Start();
  const Lsn before = postgres_.info.server.wal_end;
  Commit("a");
  Commit("b");
  Pass(seconds(1));
  postgres_.BreakConnection();
  postgres_.Rewind(before);
  postgres_.info.slot->confirmed_flush_lsn = before;
  Pass(milliseconds(1));  // other commit times
  for (const char* key : {"c", "d", "e"}) {
    Commit(key);
  }
  Pass(seconds(30));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kHistoryRewritten);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
  EXPECT_EQ(postgres_.confirmed(), before);
}

TEST_F(RelayTest, LostConfirmedPositionCausesNoDuplicates) {
  kafka_.auto_acknowledge = true;
  Start();
  Commit("a");
  Pass(seconds(1));
  postgres_.info.slot->confirmed_flush_lsn = Lsn(1000);  // as after a crash
  postgres_.BreakConnection();
  Pass(seconds(1));
  Commit("b");
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
}

TEST_F(RelayTest, CutTransactionIsNotRepeatedAfterReconnect) {
  kafka_.auto_acknowledge = true;
  Start();
  Commit("whole");
  postgres_.SendOpenTransaction({Event("half")});
  Run();
  postgres_.BreakConnection();
  postgres_.Commit({Event("half"), Event("rest")});
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("whole", "half", "rest"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(RelayTest, CutTransactionIsNotConfirmedBeforeItsFirstRows) {
  Start();
  const Lsn before = postgres_.confirmed();
  postgres_.SendOpenTransaction({Event("half")});
  Run();
  postgres_.BreakConnection();
  const Lsn end = postgres_.Commit({Event("half"), Event("rest")});
  Pass(seconds(1));
  EXPECT_EQ(kafka_.in_flight.size(), 2u);
  kafka_.Acknowledge(1);
  Pass(seconds(1));
  EXPECT_EQ(postgres_.confirmed(), before);
  kafka_.AcknowledgeAll();
  Pass(seconds(1));
  EXPECT_EQ(postgres_.confirmed(), end);
}

TEST_F(RelayTest, CutTransactionIsRepeatedByTheNextProducer) {
  Start();
  postgres_.SendOpenTransaction({Event("half")});
  Run();
  postgres_.BreakConnection();
  postgres_.Commit({Event("half"), Event("rest")});
  kafka_.health = Error(ErrorCode::kProducerFailed, "fenced");
  Pass(seconds(10));
  EXPECT_EQ(kafka_.producers, 2);
  kafka_.AcknowledgeAll();
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("half", "rest"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(RelayTest, ReconnectBacksOffAndRetriesIndefinitely) {
  Start();
  postgres_.open_error = Error(ErrorCode::kPostgresUnreachable, "down");
  postgres_.BreakConnection();
  Pass(minutes(10));
  EXPECT_EQ(State(), RelayState::kDegraded);
  EXPECT_FALSE(relay_->finished());
  postgres_.open_error = absl::OkStatus();
  Pass(seconds(11));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayTest, ProgressBeforeAnOutageDoesNotKeepResettingTheBackOff) {
  kafka_.auto_acknowledge = true;
  Start();
  Commit("a");
  Pass(seconds(1));
  const size_t before = postgres_.opens;
  postgres_.open_error = Error(ErrorCode::kPostgresUnreachable, "refused");
  postgres_.BreakConnection();
  Pass(seconds(60));
  EXPECT_LT(postgres_.opens - before, 25u);
}

TEST_F(RelayTest, SilentServerIsPingedThenDisconnected) {
  Start();
  Pass(seconds(29));
  EXPECT_EQ(postgres_.starts.size(), 1u);
  EXPECT_TRUE(std::any_of(postgres_.updates.begin(), postgres_.updates.end(),
                          [](const StandbyStatus& update) { return update.reply_requested; }));
  Pass(seconds(3));
  EXPECT_EQ(postgres_.starts.size(), 2u);
}

TEST_F(RelayTest, RepeatedReplyRequestsAtOnePositionCloseTheStream) {
  Start();
  Commit("a");  // never acknowledged: the server waits for a position that is not confirmed
  for (int i = 0; i < 30; ++i) {
    postgres_.Keepalive(postgres_.info.server.wal_end, true);
    Pass(milliseconds(20));
  }
  EXPECT_GE(postgres_.starts.size(), 2u);
  EXPECT_EQ(postgres_.confirmed(), Lsn(1000));
}

TEST_F(RelayTest, ShutdownSeenOnAnotherConnectionClosesTheStream) {
  Start();
  Commit("a");
  Run();
  postgres_.open_error = Error(ErrorCode::kPostgresShuttingDown, "shutting down");
  relay_->OnServerShuttingDown();
  EXPECT_FALSE(postgres_.streaming());
  Pass(seconds(5));
  postgres_.open_error = absl::OkStatus();
  kafka_.AcknowledgeAll();
  Pass(seconds(11));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
  EXPECT_EQ(kafka_.Keys().size(), 1u);
}

TEST_F(RelayTest, UnreadStreamIsClosedBeforeTheSlotIsInvalidated) {
  config_.pipeline.max_in_flight_records = 3;
  Start();
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    Commit(key);
  }
  Run();
  relay_->OnSlotAlmostLost();
  EXPECT_FALSE(postgres_.streaming());
  kafka_.auto_acknowledge = true;
  kafka_.AcknowledgeAll();
  Pass(seconds(11));
  EXPECT_THAT(kafka_.Keys(), ::testing::IsSupersetOf({"a", "b", "c", "d", "e"}));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(RelayTest, StreamWithoutAProducerIsClosedBeforeTheSlotIsInvalidated) {
  Start();
  kafka_.outdated = true;
  kafka_.factory_error = Error(ErrorCode::kSecretFile, "/run/secret: permission denied");
  Run();
  Commit("a");
  Run();
  relay_->OnSlotAlmostLost();
  EXPECT_FALSE(postgres_.streaming());
}

TEST_F(RelayTest, StreamClosedForTheSlotReopensWhenKafkaResponds) {
  config_.pipeline.max_in_flight_records = 3;
  Start();
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    Commit(key);
  }
  kafka_.reachable = false;
  Run();
  relay_->OnSlotAlmostLost();
  Pass(seconds(100));
  EXPECT_EQ(postgres_.opens, 1u);
  kafka_.reachable = true;
  Pass(seconds(2));
  EXPECT_EQ(postgres_.opens, 2u);
}

TEST_F(RelayTest, StreamClosedForTheSlotIsRetriedInfrequently) {
  config_.pipeline.max_in_flight_records = 1;
  Start();
  Commit("a");
  Commit("b");
  Run();
  for (int second = 0; second < 240; ++second) {
    relay_->OnSlotAlmostLost();
    Pass(seconds(1));
  }
  EXPECT_LE(postgres_.starts.size(), 3u);
}

TEST_F(RelayTest, StreamThatIsReadStaysOpen) {
  Start();
  Commit("a");
  Run();
  relay_->OnSlotAlmostLost();
  EXPECT_TRUE(postgres_.streaming());
}

// --- at the operator's limit ---

class RetainedLimitRelayTest : public RelayTest {
 protected:
  static constexpr uint64_t kLimit = 5'000;

  RetainedLimitRelayTest() {
    config_.source.max_retained_wal = kLimit;
    config_.source.on_retained_limit = OnRetainedLimit::kDropSlot;
    config_.source.on_gap = OnGap::kExit;
    postgres_.info.server.wal_end = Lsn(100'000);
    postgres_.info.slot->confirmed_flush_lsn = Lsn(100'000);
    Keep(kLimit - 1);
  }
  // The slot retains `bytes` of WAL.
  void Keep(uint64_t bytes) {
    postgres_.info.slot->restart_lsn = Lsn(postgres_.info.server.wal_end.value() - bytes);
  }
  void ExpectDropped() {
    EXPECT_TRUE(relay_->finished());
    EXPECT_THAT(relay_->result(), HasError(ErrorCode::kSlotDropped));
    EXPECT_FALSE(postgres_.info.slot);
  }
  void ExpectKept() {
    EXPECT_FALSE(relay_->finished());
    EXPECT_EQ(postgres_.drops, 0u);
  }
};

TEST_F(RetainedLimitRelayTest, StreamEndsCleanlyAndTheSlotIsDropped) {
  Start();
  Commit("a");
  Run();
  kafka_.AcknowledgeAll();
  const Lsn end = postgres_.info.server.wal_end;
  Commit("b");  // never acknowledged
  Run();
  Keep(kLimit + 100);
  relay_->OnRetainedLimit();
  EXPECT_TRUE(postgres_.finished_in_order);
  EXPECT_GE(postgres_.updates.back().flushed, end);
  EXPECT_EQ(postgres_.drops, 0u);
  Pass(seconds(1));
  ExpectDropped();
  EXPECT_THAT(relay_->result(), HasError(ErrorCode::kSlotDropped, "was committed at"));
}

TEST_F(RetainedLimitRelayTest, SlotFoundBelowTheLimitIsStreamedAgain) {
  Start();
  relay_->OnRetainedLimit();
  EXPECT_FALSE(postgres_.streaming());
  Pass(seconds(1));
  EXPECT_TRUE(postgres_.streaming());
  ExpectKept();
}

TEST_F(RetainedLimitRelayTest, SlotIsCheckedAgainBeforeTheDrop) {
  Keep(kLimit);
  postgres_.on_inspect = [this] { Keep(kLimit - 1); };
  Start();
  EXPECT_TRUE(postgres_.streaming());
  EXPECT_EQ(postgres_.opens, 2u);
  ExpectKept();
}

TEST_F(RetainedLimitRelayTest, SlotOverTheLimitAtStartupIsDropped) {
  Keep(kLimit);
  Start();
  ExpectDropped();
  EXPECT_THAT(postgres_.starts, IsEmpty());
}

TEST_F(RetainedLimitRelayTest, AlertDropsNothing) {
  config_.source.on_retained_limit = OnRetainedLimit::kAlert;
  Keep(2 * kLimit);
  Start();
  EXPECT_TRUE(postgres_.streaming());
  ExpectKept();
}

TEST_F(RetainedLimitRelayTest, StandbyDoesNotDropASlotInUse) {
  Keep(kLimit);
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = testing::kOurPid + 1;
  Start();
  relay_->OnRetainedLimit();
  Pass(seconds(5));
  EXPECT_EQ(State(), RelayState::kStandby);
  ExpectKept();
  postgres_.info.slot->active = false;  // the reader disconnects: this relay takes over
  Pass(seconds(1));
  ExpectDropped();
}

TEST_F(RetainedLimitRelayTest, SlotTakenByAnotherReaderIsNotDropped) {
  Keep(kLimit);
  postgres_.on_inspect = [this] {
    postgres_.info.slot->active = true;
    postgres_.info.slot->active_pid = testing::kOurPid + 1;
  };
  Start();
  EXPECT_EQ(State(), RelayState::kStandby);
  ExpectKept();
}

TEST_F(RetainedLimitRelayTest, DropIsRetriedWhenPostgresIsReachable) {
  Start();
  Keep(kLimit);
  postgres_.open_error = Error(ErrorCode::kPostgresUnreachable, "unreachable");
  relay_->OnRetainedLimit();
  Pass(seconds(30));
  ExpectKept();
  postgres_.open_error = absl::OkStatus();
  Pass(seconds(11));
  ExpectDropped();
}

TEST_F(RetainedLimitRelayTest, DropWithLostResponseIsReportedAsADrop) {
  Keep(kLimit);
  postgres_.drop_error = Error(ErrorCode::kConnectionLost, "cut");
  Start();
  EXPECT_FALSE(relay_->finished());
  Pass(seconds(1));
  ExpectDropped();
}

TEST_F(RetainedLimitRelayTest, SlotOfAnotherSystemIsNotDropped) {
  Start();
  postgres_.info.server.system_id = "7302";
  Keep(kLimit);
  postgres_.BreakConnection();
  Pass(seconds(1));
  EXPECT_THAT(relay_->result(), HasError(ErrorCode::kSystemChanged));
  EXPECT_TRUE(postgres_.info.slot);
}

TEST_F(RetainedLimitRelayTest, UnusableSlotIsNotDropped) {
  Keep(kLimit);
  postgres_.info.slot->plugin = "wal2json";
  Start();
  EXPECT_THAT(relay_->result(), HasError(ErrorCode::kSlotUnusable));
  EXPECT_TRUE(postgres_.info.slot);
}

TEST_F(RetainedLimitRelayTest, MissingPublicationDoesNotPreventTheDrop) {
  Start();
  postgres_.info.publication.exists = false;
  postgres_.BreakConnection();
  Pass(seconds(5));
  ExpectKept();
  Keep(kLimit);
  Pass(seconds(11));
  ExpectDropped();
}

TEST_F(RetainedLimitRelayTest, DrainIsNotDisturbed) {
  Start();
  Commit("a");
  Run();
  relay_->Drain();
  Keep(kLimit);
  relay_->OnRetainedLimit();
  EXPECT_TRUE(postgres_.streaming());
  kafka_.AcknowledgeAll();
  Pass(seconds(1));
  EXPECT_THAT(relay_->result(), IsOk());
  EXPECT_EQ(postgres_.drops, 0u);
}

// --- losing Kafka ---

TEST_F(RelayTest, FailedProducerRewindsAndRepeatsInOrder) {
  Start();
  Commit("a");
  Commit("b");
  Commit("c");
  Run();
  kafka_.Acknowledge(0);
  kafka_.Refuse(0, Error(ErrorCode::kProducerFailed, "gapless"));
  Run();
  EXPECT_THAT(kafka_.in_flight, IsEmpty());
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_EQ(kafka_.producers, 2);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(RelayTest, RecordAcknowledgedAfterARefusedOneIsRepeated) {
  Start();
  Commit("a");
  Commit("b");
  Run();
  kafka_.Acknowledge(1);
  kafka_.Refuse(0, Error(ErrorCode::kProducerFailed, "gapless"));
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("b", "a", "b"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(RelayTest, FatalProducerIsReplacedAndStreamingStartsAtTheFrontier) {
  Start();
  const Lsn acknowledged = Commit("a");
  Commit("b");
  Run();
  kafka_.Acknowledge(0);
  Pass(milliseconds(150));
  kafka_.health = Error(ErrorCode::kProducerFailed, "fatal");
  Run();
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_EQ(postgres_.starts.back(), acknowledged);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
}

TEST_F(RelayTest, FailingProducersAreRecreatedWithBackOff) {
  Start();
  for (int i = 0; i < 600; ++i) {
    kafka_.health = Error(ErrorCode::kProducerFailed, "fatal");
    Pass(seconds(1));
  }
  EXPECT_LT(kafka_.producers, 60);
  EXPECT_GT(kafka_.producers, 10);
}

TEST_F(RelayTest, BackPressureKeepsSendingStatusAndIsNotSilence) {
  config_.pipeline.max_in_flight_records = 1;
  kafka_.brokers = Error(ErrorCode::kKafkaStalled, "too few in-sync replicas");
  Start();
  Commit("a");
  Commit("b");
  Run();
  const size_t updates = postgres_.updates.size();
  Pass(minutes(2));
  EXPECT_EQ(postgres_.starts.size(), 1u);
  EXPECT_GE(postgres_.updates.size(), updates + 12);  // one per third of the server's timeout
  EXPECT_EQ(State(), RelayState::kDegraded);
  EXPECT_EQ(ShownError(), ErrorCode::kKafkaStalled);
}

// --- a client that makes no progress

TEST_F(RelayTest, ClientThatHangsWhileBrokersAnswerIsReplaced) {
  Start();
  Commit("a");
  Commit("b");
  Pass(seconds(50));
  EXPECT_EQ(kafka_.examinations, 0);
  Pass(seconds(40));
  EXPECT_EQ(State(), RelayState::kDegraded);
  EXPECT_EQ(ShownError(), ErrorCode::kClientStalled);
  EXPECT_EQ(kafka_.producers, 1);
  Pass(seconds(60));
  EXPECT_EQ(kafka_.producers, 2);
  EXPECT_THAT(
      metrics_.Text(),
      HasSubstr("walrelay_kafka_clients_stalled_total{slot=\"walrelay\",source=\"db/shop\"} 1"));
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
  Pass(minutes(10));
  EXPECT_EQ(kafka_.producers, 2);
}

TEST_F(RelayTest, ClientIsKeptWhileTheBrokersAcceptNothing) {
  Start();
  Commit("a");
  kafka_.brokers = Error(ErrorCode::kKafkaStalled, "topic orders, partition 0 has no leader");
  Pass(minutes(30));
  EXPECT_EQ(kafka_.producers, 1);
  EXPECT_THAT(board_.Read().error, HasError(ErrorCode::kKafkaStalled, "has no leader"));
  kafka_.AcknowledgeAll();
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayTest, ClientThatAcknowledgesSlowlyIsKept) {
  Start();
  for (int i = 0; i < 10; ++i) {
    Commit(std::to_string(i));
  }
  for (int i = 0; i < 10; ++i) {
    Pass(seconds(110));
    kafka_.Acknowledge(0);
  }
  Pass(seconds(1));
  EXPECT_EQ(kafka_.producers, 1);
  EXPECT_THAT(kafka_.Keys(), SizeIs(10));
}

TEST_F(RelayTest, ReplacementsThatDoNotHelpBecomeRare) {
  Start();
  Commit("a");
  Pass(std::chrono::hours(4));
  EXPECT_LT(kafka_.producers, 20);
  EXPECT_GT(kafka_.producers, 8);
}

// --- rows that cannot be published ---

TEST_F(RelayTest, RowWithoutATopicBlocksAndIsNamed) {
  kafka_.auto_acknowledge = true;
  Start();
  const Lsn good = Commit("good");
  postgres_.Commit({{.type = std::nullopt, .key = "bad", .payload = "{}"}});
  Commit("behind");
  Pass(minutes(2));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kRouteMissing);
  EXPECT_NE(board_.Read().detail.find("key=bad"), std::string::npos);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("good"));
  EXPECT_EQ(postgres_.confirmed(), good);
  EXPECT_EQ(postgres_.starts.size(), 1u);
}

TEST_F(RelayTest, UnknownTopicBlocksUntilItExists) {
  kafka_.bad_topics["outbox.event.order"] = Error(ErrorCode::kTopicUnknown, "outbox.event.order");
  kafka_.auto_acknowledge = true;
  Start();
  Commit("a");
  Commit("b");
  Pass(seconds(10));
  EXPECT_EQ(State(), RelayState::kBlocked);
  kafka_.bad_topics.clear();
  Pass(seconds(31));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
}

TEST_F(RelayTest, StreamFailingThreeTimesAtOnePositionIsBlocked) {
  Start();
  for (int i = 0; i < 3; ++i) {
    postgres_.SendRaw("Z");
    Pass(seconds(3));
  }
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kStreamStuck);
  EXPECT_EQ(postgres_.confirmed(), Lsn(1000));
}

class UndecodableTest : public RelayTest {
 protected:
  UndecodableTest() {
    kafka_.auto_acknowledge = true;
    postgres_.answers_pings = true;
  }

  // The second of three transactions cannot be sent beyond its first row.
  void StartAndBlock() {
    MakeRelay();
    Commit("a");
    const Lsn bad = postgres_.Commit({Event("b"), Event("bad"), Event("c")});
    Commit("d");
    postgres_.MakeUndecodable(bad, 1);
    commit_ = Lsn(bad.value() - 48);
    Pass(minutes(1));
    EXPECT_EQ(State(), RelayState::kBlocked);
    EXPECT_EQ(ShownError(), ErrorCode::kStreamStuck);
    EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
    EXPECT_LE(postgres_.confirmed(), commit_);
  }
  std::optional<Gap> Stuck() { return board_.Read().stuck; }

  Lsn commit_;
};

TEST_F(UndecodableTest, TransactionIsNamed) {
  StartAndBlock();
  ASSERT_TRUE(Stuck());
  EXPECT_EQ(Stuck()->from, commit_);
  EXPECT_THAT(MessageOf(board_.Read().error),
              HasSubstr("in transaction 7, which committed at " + commit_.ToString()));
  EXPECT_THAT(MessageOf(board_.Read().error), HasSubstr("after 1 of its rows"));
}

TEST_F(UndecodableTest, AcceptedTransactionIsSkippedAndNothingElse) {
  StartAndBlock();
  relay_->AcceptGap(Stuck()->id);
  Pass(minutes(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b", "d"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
  EXPECT_FALSE(Stuck());
}

TEST_F(UndecodableTest, OnlyTheNamedTransactionIsAccepted) {
  StartAndBlock();
  relay_->AcceptGap("2402-1");
  Pass(minutes(10));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
  EXPECT_LE(postgres_.confirmed(), commit_);
}

TEST_F(UndecodableTest, NextUndecodableTransactionNeedsItsOwnDecision) {
  StartAndBlock();
  const Lsn next = postgres_.Commit({Event("e"), Event("worse")});
  postgres_.MakeUndecodable(next, 0);
  const std::string first = Stuck()->id;
  relay_->AcceptGap(first);
  Pass(minutes(5));
  EXPECT_EQ(State(), RelayState::kBlocked);
  ASSERT_TRUE(Stuck());
  EXPECT_NE(Stuck()->id, first);
  EXPECT_EQ(board_.Read().accepted_gap, first);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b", "d"));
  relay_->AcceptGap(Stuck()->id);
  Pass(minutes(5));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

// What is behind the transaction may be confirmed only when everything before it is acknowledged.
TEST_F(UndecodableTest, SkipWaitsForTheRecordsInFlight) {
  kafka_.brokers = Error(ErrorCode::kKafkaStalled, "no leader");
  kafka_.auto_acknowledge = false;
  MakeRelay();
  Commit("a");
  const Lsn bad = postgres_.Commit({Event("bad")});
  postgres_.MakeUndecodable(bad, 0);
  Pass(minutes(1));
  ASSERT_TRUE(Stuck());
  relay_->AcceptGap(Stuck()->id);
  Pass(minutes(3));
  EXPECT_EQ(postgres_.confirmed(), Lsn(1000));
  kafka_.AcknowledgeAll();
  kafka_.auto_acknowledge = true;
  Pass(minutes(5));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(UndecodableTest, ConnectionThatBreaksAfterTheSkipDoesNotMeetItAgain) {
  StartAndBlock();
  relay_->AcceptGap(Stuck()->id);
  Run();
  postgres_.BreakConnection();
  Pass(minutes(1));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(UndecodableTest, TransactionThatCanBeReadAfterAllIsPublished) {
  StartAndBlock();
  postgres_.MakeDecodable();
  Pass(minutes(5));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b", "bad", "c", "d"));
  EXPECT_FALSE(Stuck());
}

// Without a BEGIN it is unknown which transaction fails.
TEST_F(UndecodableTest, FailureOutsideOfATransactionCannotBeSkipped) {
  Start();
  for (int i = 0; i < 3; ++i) {
    postgres_.SendRaw("Z");
    Pass(seconds(3));
  }
  EXPECT_EQ(ShownError(), ErrorCode::kStreamStuck);
  EXPECT_FALSE(Stuck());
}

TEST_F(RelayTest, StuckStreamIsRetriedAfterMinutesForEveryError) {
  kafka_.auto_acknowledge = true;
  Start();
  Commit("a");
  Run();
  const absl::Status errors[] = {Error(ErrorCode::kConnectionLost, "reset"),
                                 Error(ErrorCode::kServerSilent, "silent"),
                                 Error(ErrorCode::kPostgresError, "disk full")};
  size_t failures = 0;
  std::function<void()> fail = [&] {  // no message from the server arrives
    postgres_.CutAfter(0);
    postgres_.BreakConnection(errors[failures++ % 3]);
    postgres_.at_next_read = fail;
  };
  postgres_.at_next_read = fail;
  Commit("b");
  Pass(seconds(10));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kStreamStuck);
  const size_t before = postgres_.starts.size();
  Pass(minutes(10));
  EXPECT_LE(postgres_.starts.size() - before, 12u);
  EXPECT_GE(postgres_.starts.size() - before, 4u);
  postgres_.at_next_read = nullptr;
  Pass(minutes(3));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
}

TEST_F(RelayTest, IdleStreamThatBreaksIsNotStuck) {
  postgres_.answers_pings = true;
  Start();
  for (int i = 0; i < 6; ++i) {
    postgres_.BreakConnection();
    Pass(minutes(2));
    EXPECT_EQ(State(), RelayState::kStreaming);
  }
  EXPECT_EQ(postgres_.starts.size(), 7u);
}

TEST_F(RelayTest, RepeatedSilenceAtOnePositionRaisesTheSenderTimeout) {
  Start();
  std::function<void()> be_silent = [&] {
    postgres_.CutAfter(0);
    postgres_.BreakConnection(Error(ErrorCode::kServerSilent, "decoding"));
    postgres_.at_next_read = be_silent;
  };
  postgres_.at_next_read = be_silent;
  Commit("a");
  Run();
  EXPECT_EQ(postgres_.sender_timeout, Micros(0));
  Pass(minutes(60));
  EXPECT_EQ(postgres_.sender_timeout, minutes(10));
}

TEST_F(RelayTest, ProtocolViolationConfirmsNothingAndReconnects) {
  kafka_.auto_acknowledge = true;
  Start();
  Commit("a");
  postgres_.SendRaw(testing::InsertMessage(99, testing::TextRow({"x"})));  // outside a transaction
  Commit("b");
  Pass(seconds(2));
  EXPECT_EQ(postgres_.starts.size(), 2u);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
}

// --- two instances ---

TEST_F(RelayTest, BusySlotLeadsToStandbyThenTakeover) {
  kafka_.auto_acknowledge = true;
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = 555;
  Start();
  Pass(minutes(1));
  EXPECT_EQ(State(), RelayState::kStandby);
  EXPECT_THAT(postgres_.starts, IsEmpty());
  EXPECT_THAT(postgres_.terminated, IsEmpty());
  postgres_.info.slot->active = false;
  Commit("a");
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

TEST_F(RelayTest, OwnStaleConnectionIsTerminated) {
  Start();
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = testing::kOurPid;
  postgres_.info.slot->reader_started = postgres_.info.server.backend_started;
  postgres_.BreakConnection();
  Pass(seconds(2));
  EXPECT_THAT(postgres_.terminated, ElementsAre(testing::kOurPid));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

// It had the slot when the slots were read, and was gone when the processes were.
TEST_F(RelayTest, OwnConnectionThatEndsIsOurs) {
  Start();
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = testing::kOurPid;
  postgres_.info.slot->reader_started.reset();
  postgres_.BreakConnection();
  Pass(seconds(2));
  EXPECT_THAT(postgres_.terminated, ElementsAre(testing::kOurPid));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

// The server has started the stream, and has not noticed that the connection is gone. Taken for
// that of another instance, it would explain a slot that was moved meanwhile.
TEST_F(RelayTest, TheConnectionOfAFailedStartIsOurs) {
  Start();
  postgres_.info.server.backend_pid = testing::kOurPid + 1;
  postgres_.start_error = Error(ErrorCode::kConnectionLost, "reset");
  postgres_.BreakConnection();
  for (int i = 0; i < 100 && !postgres_.start_error.ok(); ++i) {
    Pass(milliseconds(10));
  }
  ASSERT_THAT(postgres_.start_error, IsOk());
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = testing::kOurPid + 1;
  postgres_.info.slot->reader_started = postgres_.info.server.backend_started;
  Pass(seconds(2));
  EXPECT_THAT(postgres_.terminated, ElementsAre(testing::kOurPid + 1));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

// Pids of containers are small, and repeat: after a restart of the server, or a failover, another
// instance may have ours.
TEST_F(RelayTest, AnotherWalsenderWithTheSamePidIsNotOurs) {
  kafka_.auto_acknowledge = true;
  Start();
  Commit("ours");
  Pass(seconds(1));
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = testing::kOurPid;
  postgres_.info.slot->reader_started = postgres_.info.server.backend_started + seconds(1);
  postgres_.BreakConnection();
  Pass(seconds(2));
  EXPECT_THAT(postgres_.terminated, IsEmpty());
  EXPECT_EQ(State(), RelayState::kStandby);
  postgres_.info.slot->confirmed_flush_lsn = Commit("theirs");
  postgres_.info.slot->active = false;
  Commit("ours again");
  Pass(seconds(2));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("ours", "ours again"));
}

TEST_F(RelayTest, SlotAdvancedByAnotherInstanceResumesAtItsPosition) {
  kafka_.auto_acknowledge = true;
  Start();
  Commit("ours");
  Pass(seconds(1));
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = 555;
  postgres_.BreakConnection();
  Pass(seconds(2));
  const Lsn theirs = Commit("theirs");
  postgres_.info.slot->confirmed_flush_lsn = theirs;
  postgres_.info.slot->active = false;
  Commit("ours again");
  Pass(seconds(2));
  EXPECT_EQ(postgres_.starts.back(), theirs);
  EXPECT_THAT(kafka_.Keys(), ElementsAre("ours", "ours again"));
}

TEST_F(RelayTest, SuspendedProcessAbandonsRecordsInFlight) {
  Start();
  Commit("a");
  Run();
  clock_.Advance(seconds(60));
  relay_->Turn();
  EXPECT_THAT(kafka_.in_flight, IsEmpty());
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

TEST_F(RelayTest, ProcessSuspendedWithinATurnAbandonsRecordsInFlight) {
  Start();
  Commit("a");
  Run();
  postgres_.at_next_read = [this] {
    clock_.Advance(seconds(60));
    postgres_.BreakConnection();
  };
  Run();
  EXPECT_THAT(kafka_.in_flight, IsEmpty());
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

// --- exits and fatal errors ---

TEST_F(RelayTest, MissingSlotExitsWithAGapIfConfigured) {
  config_.source.on_gap = OnGap::kExit;
  Start();
  postgres_.info.slot.reset();
  postgres_.BreakConnection();
  Pass(seconds(2));
  ASSERT_TRUE(relay_->finished());
  EXPECT_EQ(ExitCodeFor(relay_->result()), ExitCode::kGap);
}

TEST_F(RelayTest, SkippedPublicationExitsWithAGapAndConfirmsNothing) {
  config_.source.on_gap = OnGap::kExit;
  Start();
  postgres_.BreakConnection(Error(ErrorCode::kPublicationSkipped, "walrelay"));
  Pass(seconds(1));
  ASSERT_TRUE(relay_->finished());
  EXPECT_EQ(ExitCodeFor(relay_->result()), ExitCode::kGap);
  EXPECT_EQ(postgres_.confirmed(), Lsn(1000));
}

TEST_F(RelayTest, RestoredServerExitsWithAGap) {
  config_.source.on_gap = OnGap::kExit;
  kafka_.auto_acknowledge = true;
  Start();
  Commit("a");
  Pass(seconds(1));
  postgres_.info.server.wal_end = Lsn(1010);
  postgres_.BreakConnection();
  Pass(seconds(2));
  ASSERT_TRUE(relay_->finished());
  EXPECT_THAT(relay_->result(), HasError(ErrorCode::kServerBehind));
}

TEST_F(RelayTest, RestoredServerIsDetectedDespiteAnotherError) {
  config_.source.on_gap = OnGap::kExit;
  Start();
  Pass(seconds(1));
  postgres_.info.server.wal_end = Lsn(500);
  postgres_.info.publication.publishes_insert = false;
  postgres_.BreakConnection();
  Pass(seconds(2));
  ASSERT_TRUE(relay_->finished());
  EXPECT_THAT(relay_->result(), HasError(ErrorCode::kServerBehind));
}

TEST_F(RelayTest, PromotedServerIsFollowedFromItsSlot) {
  Start();
  Commit("in flight");
  Run();
  postgres_.info.server.timeline = 2;
  postgres_.info.server.ancestors = {{1, Lsn(1000)}};
  postgres_.BreakConnection();
  Pass(seconds(2));
  EXPECT_EQ(postgres_.starts.back(), Lsn(1000));
  EXPECT_EQ(kafka_.producers, 2);
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

// A host list may lead to the promoted server first, and back to the old one.
TEST_F(RelayTest, RecordsDiscardedForAnAttemptThatFailedAreReadAgain) {
  Start();
  Commit("a");
  Run();
  postgres_.info.server.timeline = 2;
  postgres_.info.server.ancestors = {{1, Lsn(1000)}};
  postgres_.start_error = Error(ErrorCode::kSlotBusy, "another instance was faster");
  postgres_.BreakConnection();
  for (int i = 0; i < 20 && !kafka_.in_flight.empty(); ++i) {
    Pass(milliseconds(100));
  }
  ASSERT_THAT(kafka_.in_flight, IsEmpty());
  postgres_.info.server.timeline = 1;
  postgres_.info.server.ancestors.clear();
  kafka_.auto_acknowledge = true;
  Pass(seconds(2));
  EXPECT_EQ(postgres_.starts.back(), Lsn(1000));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

TEST_F(RelayTest, DefiniteErrorIsFatalAtStartupOnly) {
  postgres_.open_error = Error(ErrorCode::kNoReplicationRole, "may not");
  Start();
  ASSERT_TRUE(relay_->finished());
  EXPECT_EQ(ExitCodeFor(relay_->result()), ExitCode::kPermission);

  postgres_.open_error = absl::OkStatus();
  Start();
  postgres_.open_error = Error(ErrorCode::kNoReplicationRole, "revoked");
  postgres_.BreakConnection();
  Pass(minutes(5));
  EXPECT_FALSE(relay_->finished());
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kNoReplicationRole);
  postgres_.open_error = absl::OkStatus();
  Pass(seconds(15));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayTest, RejectedLoginIsRetriedAtStartup) {
  postgres_.open_error = Error(ErrorCode::kPostgresLogin, "password");
  Start();
  Pass(minutes(5));
  ASSERT_FALSE(relay_->finished());
  EXPECT_EQ(ShownError(), ErrorCode::kPostgresLogin);
  EXPECT_LT(postgres_.opens, 60u);
  postgres_.open_error = absl::OkStatus();
  Pass(seconds(15));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayTest, TemporarilyUnreadableSecretIsNotFatal) {
  Start();
  postgres_.open_error = Error(ErrorCode::kSecretFile, "mode 0644");
  postgres_.BreakConnection();
  Pass(minutes(1));
  ASSERT_FALSE(relay_->finished());
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kSecretFile);
  postgres_.open_error = absl::OkStatus();
  Pass(seconds(15));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayTest, ProducerCreationFailureIsFatalAtStartupOnly) {
  kafka_.factory_error = Error(ErrorCode::kKafkaConfiguration, "ssl.ca.location");
  Start();
  ASSERT_TRUE(relay_->finished());
  EXPECT_EQ(ExitCodeFor(relay_->result()), ExitCode::kConfiguration);

  kafka_.factory_error = absl::OkStatus();
  Start();
  Commit("a");
  Run();
  kafka_.factory_error = Error(ErrorCode::kSecretFile, "being rewritten");
  kafka_.health = Error(ErrorCode::kProducerFailed, "fenced");
  Pass(minutes(1));
  ASSERT_FALSE(relay_->finished());
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kSecretFile);
  kafka_.factory_error = absl::OkStatus();
  kafka_.auto_acknowledge = true;
  Pass(seconds(15));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a"));
}

// A warm standby is past its startup.
TEST_F(RelayTest, StandbySurvivesErrorsOfAllKinds) {
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = 555;
  Start();
  Pass(seconds(5));
  ASSERT_EQ(State(), RelayState::kStandby);
  postgres_.info.slot->active = false;
  kafka_.factory_error = Error(ErrorCode::kKafkaConfiguration, "ssl.ca.location");
  Pass(seconds(30));
  postgres_.open_error = Error(ErrorCode::kDatabaseMissing, "shop");
  Pass(seconds(30));
  ASSERT_FALSE(relay_->finished());
  postgres_.open_error = absl::OkStatus();
  kafka_.factory_error = absl::OkStatus();
  Pass(seconds(15));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayTest, MissingSlotIsCreatedOnlyIfConfigured) {
  postgres_.info.slot.reset();
  Start();
  ASSERT_TRUE(relay_->finished());
  EXPECT_THAT(relay_->result(), HasError(ErrorCode::kSlotMissing));

  config_.source.create_slot = true;
  Start();
  EXPECT_TRUE(postgres_.streaming());
}

TEST_F(RelayTest, PublicationThatChangesWhileTheSlotIsCreatedIsChecked) {
  config_.source.create_slot = true;
  postgres_.info.slot.reset();
  postgres_.after_create_slot = [this] { postgres_.info.tables.front().published = false; };
  Start();
  EXPECT_FALSE(postgres_.streaming());
  EXPECT_THAT(relay_->result(), HasError(ErrorCode::kTableNotPublished));
}

TEST_F(RelayTest, SlotThatDisappearsAfterItsCreationIsNotRecreated) {
  config_.source.create_slot = true;
  postgres_.info.slot.reset();
  postgres_.after_create_slot = [this] { postgres_.info.slot.reset(); };
  Start();
  EXPECT_FALSE(postgres_.info.slot.has_value());
  EXPECT_THAT(relay_->result(), HasError(ErrorCode::kSlotMissing));
}

TEST_F(RelayTest, SlotSeenByAStandbyIsNotRecreated) {
  config_.source.create_slot = true;
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = 555;
  Start();
  postgres_.info.slot.reset();
  Pass(minutes(1));
  EXPECT_FALSE(postgres_.info.slot.has_value());
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kSlotMissing);
}

// --- stopping ---

TEST_F(RelayTest, DrainWaitsForAcknowledgementsAndConfirmsThem) {
  Start();
  const Lsn end = Commit("a");
  Run();
  relay_->Drain();
  Pass(seconds(1));
  EXPECT_FALSE(relay_->finished());
  kafka_.AcknowledgeAll();
  Pass(milliseconds(10));
  ASSERT_TRUE(relay_->finished());
  EXPECT_THAT(relay_->result(), IsOk());
  EXPECT_EQ(postgres_.confirmed(), end);
  EXPECT_TRUE(postgres_.finished_in_order);
}

TEST_F(RelayTest, DrainFinishesTheOpenTransactionAndReadsNoMore) {
  kafka_.auto_acknowledge = true;
  Start();
  postgres_.SendOpenTransaction({Event("first")});
  Run();
  relay_->Drain();
  Pass(seconds(1));
  EXPECT_FALSE(relay_->finished());
  const Lsn commit = postgres_.info.server.wal_end;
  postgres_.SendRaw(testing::InsertMessage(testing::kOutboxOid,
                                           testing::TextRow({"second", "order", "second", "{}"})));
  postgres_.SendRaw(testing::CommitMessage(commit, Lsn(commit.value() + 8), clock_.WallNow()));
  postgres_.SendOpenTransaction({Event("after the drain")});
  Pass(seconds(1));
  ASSERT_TRUE(relay_->finished());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("first", "second"));
  EXPECT_EQ(postgres_.confirmed(), Lsn(commit.value() + 8));
}

TEST_F(RelayTest, DrainEndsAtItsTimeoutAndLeavesTheRestUnconfirmed) {
  Start();
  Commit("a");
  Run();
  relay_->Drain();
  Pass(seconds(26));
  ASSERT_TRUE(relay_->finished());
  EXPECT_THAT(relay_->result(), IsOk());
  EXPECT_EQ(postgres_.confirmed(), Lsn(1000));
}

TEST_F(RelayTest, DrainDoesNotWaitWhileBlocked) {
  kafka_.auto_acknowledge = true;
  Start();
  postgres_.Commit({{.type = std::nullopt, .key = "bad", .payload = "{}"}});
  Pass(seconds(1));
  relay_->Drain();
  Pass(milliseconds(10));
  EXPECT_TRUE(relay_->finished());
}

TEST_F(RelayTest, StandbyStopsAtOnce) {
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = 555;
  Start();
  relay_->Drain();
  relay_->Turn();
  EXPECT_TRUE(relay_->finished());
}

}  // namespace
}  // namespace walrelay
