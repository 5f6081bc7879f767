// Exactly-once delivery in the relay: events are committed in transactions, each with the record of
// progress, and whatever becomes of a sink, none is committed twice.

#include "relay/transaction_committer.h"

#include <gtest/gtest.h>

#include "fakes/progress_fixture.h"
#include "fakes/status_matchers.h"
#include "relay/relay.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TransactionCommitterTest : public testing::ProgressFixture {
 protected:
  TransactionCommitterTest() {
    config_.pipeline.progress = ProgressRecording::kAuto;
    config_.pipeline.mode = PipelineMode::kExactlyOnce;
    config_.source.create_slot = true;
    postgres_.info.slot.reset();
    kafka_.auto_acknowledge = true;
  }
  Progress Recorded() const {
    WR_CHECK(!Records().empty(), "progress was recorded");
    return Records().back();
  }
  // The committed transactions that have events.
  std::vector<std::vector<std::string>> Transactions() const {
    std::vector<std::vector<std::string>> out;
    for (const auto& keys : kafka_.commits) {
      if (keys.size() > 1) {
        out.emplace_back(keys.begin(), keys.end() - 1);
      }
    }
    return out;
  }
  void Begin() { Restart(); }
  std::vector<testing::FakeRow> Rows(int count) {
    std::vector<testing::FakeRow> rows;
    for (int i = 1; i <= count; ++i) {
      rows.push_back(Event(std::to_string(i)));
    }
    return rows;
  }
  // Crashes when events "1" and "3" of a transaction are published, whose second row is of another
  // table.
  void RestartInsideATransaction(bool other_rows_before, bool other_rows_after) {
    config_.pipeline.max_in_flight_records = 2;
    postgres_.sends_other_tables = other_rows_before;
    Begin();
    std::vector<testing::FakeRow> rows = Rows(6);
    rows[1].outbox = false;
    postgres_.Commit(rows);
    while (Transactions().empty()) {
      relay_->Turn();
    }
    ASSERT_THAT(Events(), ElementsAre("1", "3"));
    ASSERT_EQ(Recorded().partial.row_lsn, Lsn(102));
    Crash();
    postgres_.sends_other_tables = other_rows_after;
    Restart();
  }
  // Returns how often the relay had connected by then.
  size_t LoseTheConnectionBeforeAnAcknowledgement() {
    Begin();
    Commit("a");
    kafka_.auto_acknowledge = false;
    Run();
    WR_CHECK(!kafka_.in_flight.empty(), "the event is not acknowledged");
    const size_t opens = postgres_.opens;
    postgres_.BreakConnection();
    return opens;
  }
  // Two rows of a transaction are not committed to Kafka, and the record that would end theirs is
  // refused.
  void LoseTheConnectionAndTheTopicInATransaction() {
    Begin();
    postgres_.SendOpenTransaction(Rows(2));
    Run();
    WR_CHECK(kafka_.uncommitted().size() == 2, "the rows are published, and not committed");
    kafka_.bad_topics[std::string(testing::kProgressTopic)] =
        Error(ErrorCode::kTopicUnknown, "gone");
    postgres_.BreakConnection();
  }
};

TEST_F(TransactionCommitterTest, NothingIsPublishedBeforeTheClaim) {
  kafka_.hold_claim = true;
  Begin();
  Commit("a");
  Pass(seconds(5));
  EXPECT_TRUE(postgres_.streaming());
  EXPECT_EQ(kafka_.request.transactional_id, "walrelay.shop.walrelay");
  EXPECT_EQ(kafka_.request.progress.topic, testing::kProgressTopic);
  EXPECT_THAT(kafka_.in_flight, IsEmpty());
  kafka_.hold_claim = false;
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a"));
}

TEST_F(TransactionCommitterTest, AnInstanceWithoutTheSlotDoesNotClaim) {
  Begin();
  Crash();
  const int producers = kafka_.producers;
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = 4711;
  Restart();
  EXPECT_EQ(State(), RelayState::kStandby);
  EXPECT_EQ(kafka_.producers, producers);
}

TEST_F(TransactionCommitterTest, ASingleEventIsCommittedAtOnce) {
  Begin();
  const Lsn end = Commit("a");
  Run();
  EXPECT_THAT(Transactions(), ElementsAre(ElementsAre("a")));
  EXPECT_EQ(Recorded().frontier, end);
  EXPECT_EQ(Recorded().last.commit_lsn, Lsn(end.value() - 48));
  Pass(seconds(1));
  EXPECT_EQ(postgres_.confirmed(), end);
}

TEST_F(TransactionCommitterTest, WalOfOtherTablesIsCommittedRarely) {
  Begin();
  Commit("a");
  Pass(seconds(1));
  const size_t before = kafka_.commits.size();
  for (int i = 0; i < 300; ++i) {
    postgres_.OtherTraffic();
    Pass(milliseconds(100));
  }
  EXPECT_EQ(kafka_.commits.size() - before, 3u);
  relay_->Drain();
  Pass(milliseconds(250));
  ASSERT_TRUE(relay_->finished());
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(TransactionCommitterTest, OnlyWhatIsCommittedIsConfirmed) {
  Begin();
  const Lsn before = postgres_.confirmed();
  kafka_.hold_commit = true;
  Commit("a");
  Pass(seconds(5));
  EXPECT_TRUE(kafka_.sealed());
  EXPECT_EQ(postgres_.confirmed(), before);
}

TEST_F(TransactionCommitterTest, EventsGatherDuringACommit) {
  Begin();
  kafka_.hold_commit = true;
  Commit("a");
  Pass(milliseconds(10));
  Commit("b");
  Commit("c");
  Pass(milliseconds(10));
  EXPECT_THAT(Transactions(), IsEmpty());
  kafka_.hold_commit = false;
  Pass(milliseconds(10));
  EXPECT_THAT(Transactions(), ElementsAre(ElementsAre("a"), ElementsAre("b", "c")));
}

TEST_F(TransactionCommitterTest, ADatabaseTransactionIsNotSplit) {
  Begin();
  postgres_.SendOpenTransaction(Rows(3));
  Pass(seconds(2));
  EXPECT_THAT(kafka_.uncommitted(), SizeIs(3));
  EXPECT_FALSE(kafka_.sealed());
}

TEST_F(TransactionCommitterTest, ATransactionDoesNotStayOpenForever) {
  Begin();
  postgres_.SendOpenTransaction(Rows(3));
  Pass(seconds(11));
  EXPECT_THAT(Transactions(), ElementsAre(ElementsAre("1", "2", "3")));
  EXPECT_EQ(Recorded().partial.row_lsn, Lsn(102));
  EXPECT_EQ(Recorded().partial.transaction.xid, 7u);
}

TEST_F(TransactionCommitterTest, ALargeTransactionIsSplit) {
  config_.pipeline.atomic_rows = 2;
  Begin();
  postgres_.SendOpenTransaction(Rows(3));
  Run();
  EXPECT_THAT(Transactions(), ElementsAre(ElementsAre("1", "2", "3")));
  EXPECT_EQ(Recorded().partial.row_lsn, Lsn(102));
}

TEST_F(TransactionCommitterTest, AFullWindowSplitsATransaction) {
  config_.pipeline.max_in_flight_records = 2;
  Begin();
  const Lsn end = postgres_.Commit(Rows(5));
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_EQ(Recorded().frontier, end);
  EXPECT_FALSE(Recorded().partial.valid());
}

// The events that wait would take each place that becomes free.
TEST_F(TransactionCommitterTest, TheRecordThatEndsATransactionGetsTheNextFreePlace) {
  Begin();
  Pass(seconds(1));
  kafka_.queue_limit = 2;
  kafka_.auto_acknowledge = false;
  postgres_.SendOpenTransaction(Rows(50));
  Pass(seconds(11));
  ASSERT_THAT(kafka_.in_flight, SizeIs(2));
  for (int i = 0; i < 3; ++i) {
    kafka_.Acknowledge(0);
    Pass(milliseconds(1));
  }
  EXPECT_THAT(Transactions(), ElementsAre(ElementsAre("1", "2")));
}

// --- after a crash

TEST_F(TransactionCommitterTest, ARestartContinuesAfterTheRecord) {
  Begin();
  const Lsn before = postgres_.confirmed();
  Commit("a");
  Commit("b");
  Run();
  Crash();
  postgres_.info.slot->confirmed_flush_lsn = before;
  Restart();
  Commit("c");
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a", "b", "c"));
}

// Another instance may have recorded more, which only the claim shows.
TEST_F(TransactionCommitterTest, NothingIsConfirmedBeforeTheClaim) {
  Begin();
  const Lsn before = postgres_.confirmed();
  const Lsn end = Commit("a");
  Pass(seconds(1));
  Crash();
  postgres_.info.slot->confirmed_flush_lsn = before;
  kafka_.hold_claim = true;
  Restart();
  Pass(seconds(60));
  EXPECT_EQ(postgres_.confirmed(), before);
  kafka_.hold_claim = false;
  Pass(seconds(1));
  EXPECT_EQ(postgres_.confirmed(), end);
}

// The markers of the last commit, which was confirmed, are not written yet.
TEST_F(TransactionCommitterTest, ARecordThatCannotBeReadYetIsAwaited) {
  Begin();
  Commit("a");
  Pass(seconds(1));
  const std::vector<testing::FakeRecord> log = kafka_.log;
  Crash();
  kafka_.log.resize(1);
  progress_.settled = false;
  Restart();
  EXPECT_EQ(ShownError(), ErrorCode::kTransactionUnended);
  EXPECT_EQ(board_.Read().gap, std::nullopt);
  kafka_.log = log;
  progress_.settled = true;
  Pass(seconds(5));
  Commit("b");
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a", "b"));
}

TEST_F(TransactionCommitterTest, ARestartContinuesInsideATransaction) {
  config_.pipeline.max_in_flight_records = 2;
  Begin();
  postgres_.Commit(Rows(5));
  kafka_.hold_commit = true;
  Pass(milliseconds(10));
  kafka_.hold_commit = false;
  while (Transactions().size() < 2) {
    relay_->Turn();
  }
  ASSERT_THAT(Events(), ElementsAre("1", "2", "3", "4"));
  ASSERT_EQ(Recorded().partial.row_lsn, Lsn(103));
  for (int crash = 0; crash < 2; ++crash) {
    Crash();
    MakeRelay();
    relay_->Turn();
    relay_->Turn();
  }
  Crash();
  Restart();
  EXPECT_THAT(Events(), ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_FALSE(Recorded().partial.valid());
  Commit("b");
  Pass(seconds(1));
  EXPECT_EQ(Events().back(), "b");
}

// As after a change of the publication while the transaction ran.
TEST_F(TransactionCommitterTest, RowsOfAnotherTableMayBeMissingAfterARestart) {
  RestartInsideATransaction(/*other_rows_before=*/true, /*other_rows_after=*/false);
  EXPECT_THAT(Events(), ElementsAre("1", "3", "4", "5", "6"));
}

TEST_F(TransactionCommitterTest, RowsOfAnotherTableMayAppearAfterARestart) {
  RestartInsideATransaction(/*other_rows_before=*/false, /*other_rows_after=*/true);
  EXPECT_THAT(Events(), ElementsAre("1", "3", "4", "5", "6"));
}

// As with COPY.
TEST_F(TransactionCommitterTest, RowsOfOneRecordAreDistinguished) {
  config_.pipeline.max_in_flight_records = 2;
  Begin();
  std::vector<testing::FakeRow> rows = Rows(5);
  for (size_t i = 1; i < rows.size(); ++i) {
    rows[i].continues = true;
  }
  postgres_.Commit(rows);
  while (Transactions().empty()) {
    relay_->Turn();
  }
  ASSERT_THAT(Events(), ElementsAre("1", "2"));
  EXPECT_EQ(Recorded().partial.last_row(),
            (Position{Recorded().partial.transaction.commit_lsn, Lsn(100), 2}));
  Crash();
  Restart();
  EXPECT_THAT(Events(), ElementsAre("1", "2", "3", "4", "5"));
}

// The COMMIT of a transaction that was published in part may be the only message that is left.
TEST_F(TransactionCommitterTest, ATransactionWhoseRowsWereAllPublishedIsNotRepeated) {
  config_.pipeline.max_in_flight_records = 1;
  Begin();
  const Lsn before = postgres_.confirmed();
  Commit("a");
  Pass(seconds(1));
  Progress record = Recorded();
  // As it was before the COMMIT was handled.
  record.partial = {record.last, Lsn(100), 1};
  record.frontier = before;
  record.last = {};
  Crash();
  kafka_.log.clear();
  progress_.stored = record;
  for (int restart = 0; restart < 3; ++restart) {
    postgres_.info.slot->confirmed_flush_lsn = before;
    Restart();
    Crash();
  }
  EXPECT_THAT(Events(), IsEmpty());
  EXPECT_FALSE(Recorded().partial.valid());
}

TEST_F(TransactionCommitterTest, OtherSettingsContinueInsideATransaction) {
  config_.pipeline.max_in_flight_records = 2;
  Begin();
  postgres_.Commit(Rows(3));
  while (Transactions().empty()) {
    relay_->Turn();
  }
  ASSERT_TRUE(Recorded().partial.valid());
  Crash();
  config_.source.message_prefixes = {"outbox"};
  Restart();
  EXPECT_THAT(Events(), ElementsAre("1", "2", "3"));
}

// --- sinks that fail

TEST_F(TransactionCommitterTest, AnUnansweredCommitThatSucceededIsNotRepeated) {
  Begin();
  kafka_.lost_commit = true;
  Commit("a");
  Pass(seconds(5));
  Commit("b");
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a", "b"));
  EXPECT_EQ(postgres_.confirmed(), postgres_.info.server.wal_end);
}

TEST_F(TransactionCommitterTest, AnUnansweredCommitThatFailedIsRepeated) {
  Begin();
  kafka_.lost_commit = false;
  Commit("a");
  Pass(seconds(5));
  Commit("b");
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a", "b"));
}

TEST_F(TransactionCommitterTest, AnUnansweredCommitInsideATransaction) {
  config_.pipeline.max_in_flight_records = 2;
  for (const bool succeeded : {true, false}) {
    Begin();
    kafka_.lost_commit = succeeded;
    postgres_.Commit(Rows(5));
    Pass(seconds(10));
    EXPECT_THAT(Events(), ElementsAre("1", "2", "3", "4", "5"));
    Crash();
    kafka_.log.clear();
    postgres_.info.slot.reset();
  }
}

TEST_F(TransactionCommitterTest, AnAbortedTransactionIsPublishedAgain) {
  Begin();
  kafka_.auto_acknowledge = false;
  Commit("a");
  Run();
  kafka_.health = Error(ErrorCode::kProducerFenced, "fenced");
  kafka_.auto_acknowledge = true;
  Pass(seconds(5));
  EXPECT_THAT(Events(), ElementsAre("a"));
}

TEST_F(TransactionCommitterTest, AProducerThatFailsWithoutATransactionIsReplaced) {
  Begin();
  Commit("a");
  Pass(seconds(1));
  const size_t starts = postgres_.starts.size();
  kafka_.health = Error(ErrorCode::kCommitRepeated, "EndTxn was sent 2 times");
  Pass(seconds(1));
  Commit("b");
  Pass(seconds(1));
  EXPECT_EQ(kafka_.claims, 2);
  EXPECT_EQ(postgres_.starts.size(), starts);
  EXPECT_THAT(Events(), ElementsAre("a", "b"));
}

TEST_F(TransactionCommitterTest, AProducerAfterOneThatCommittedNothingHasMoreTime) {
  Begin();
  Commit("a");
  Pass(seconds(1));
  const Micros first = kafka_.request.commit_limit;
  EXPECT_EQ(first, config_.kafka.transaction_timeout / 3);
  kafka_.health = Error(ErrorCode::kTransactionAborted, "no acknowledgement");
  Pass(seconds(1));
  EXPECT_EQ(kafka_.request.commit_limit, 2 * first);
  Commit("b");
  Pass(seconds(1));
  kafka_.health = Error(ErrorCode::kCommitRepeated, "EndTxn was sent 2 times");
  Pass(seconds(1));
  EXPECT_EQ(kafka_.request.commit_limit, first);
  Commit("c");
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a", "b", "c"));
}

// For example by `walrelay progress set`, or by the transaction of an instance that lost the slot.
TEST_F(TransactionCommitterTest, AnotherRecordAfterTheClaimIsFollowed) {
  Begin();
  Commit("a");
  Pass(seconds(1));
  const Progress before = Recorded();
  Crash();
  kafka_.hold_claim = true;
  Start();
  const Lsn end = Commit("published by the other instance");
  Progress other = before;
  other.run_id = "other";
  other.sequence = 7;
  other.frontier = end;
  other.last = {.commit_lsn = Lsn(end.value() - 48), .xid = 0, .commit_time = clock_.WallNow()};
  progress_.stored = other;
  kafka_.hold_claim = false;
  Pass(seconds(5));
  EXPECT_EQ(kafka_.claims, 3);
  EXPECT_THAT(Events(), ElementsAre("a"));
}

TEST_F(TransactionCommitterTest, ARecordThatHasDisappearedIsNotReplaced) {
  Begin();
  Commit("a");
  Pass(seconds(1));
  kafka_.log.clear();
  kafka_.health = Error(ErrorCode::kTransactionAborted, "the topic does not exist");
  Pass(seconds(5));
  Commit("b");
  Pass(seconds(5));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kProgressMissing);
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(TransactionCommitterTest, ASuccessorKnowsThatThereWasARecord) {
  Begin();
  Commit("a");
  Pass(seconds(1));
  relay_->Drain();
  Pass(seconds(1));
  memory_ = relay_->memory();
  kafka_.log.clear();
  Restart();
  Commit("b");
  Pass(seconds(5));
  EXPECT_EQ(ShownError(), ErrorCode::kProgressMissing);
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(TransactionCommitterTest, ASuccessorKnowsThatTheSlotIsNew) {
  postgres_.start_error = Error(ErrorCode::kConnectionLost, "cut");
  Start();
  Run();
  relay_->Drain();
  Run();
  ASSERT_TRUE(relay_->finished());
  memory_ = relay_->memory();
  Restart();
  Commit("a");
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a"));
}

TEST_F(TransactionCommitterTest, AnIdThatMayNotBeUsedBlocks) {
  kafka_.hold_claim = true;
  Begin();
  for (int i = 0; i < 5; ++i) {
    kafka_.health = Error(ErrorCode::kTransactionalIdDenied, "walrelay.shop.walrelay");
    Pass(milliseconds(500));
    EXPECT_EQ(State(), RelayState::kBlocked);
    EXPECT_EQ(ShownError(), ErrorCode::kTransactionalIdDenied);
  }
  kafka_.hold_claim = false;
  Pass(seconds(60));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

// --- refused records

TEST_F(TransactionCommitterTest, ARefusedRecordIsFoundInTransactionsOfOneEvent) {
  Begin();
  kafka_.refused_keys["2"] = Error(ErrorCode::kDeliveryRefused, "invalid record");
  postgres_.Commit(Rows(3));
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kDeliveryRefused);
  EXPECT_THAT(Transactions(), ElementsAre(ElementsAre("1")));
  kafka_.refused_keys.clear();
  Pass(seconds(10));
  EXPECT_THAT(Transactions(), ElementsAre(ElementsAre("1"), ElementsAre("2"), ElementsAre("3")));
}

// The record is of the timeline before, and stays so while the first row of the new one blocks.
TEST_F(TransactionCommitterTest, ARefusedRecordIsFoundBehindAPromotion) {
  Begin();
  Commit("a");
  Pass(seconds(1));
  Crash();
  postgres_.info.server.timeline = 2;
  postgres_.info.server.ancestors = {{1, postgres_.info.server.wal_end}};
  kafka_.refused_keys["2"] = Error(ErrorCode::kDeliveryRefused, "invalid record");
  postgres_.Commit(Rows(3));
  Restart();
  Pass(seconds(30));
  EXPECT_EQ(ShownError(), ErrorCode::kDeliveryRefused);
  EXPECT_LT(postgres_.opens, 10u);
  kafka_.refused_keys.clear();
  Pass(seconds(60));
  EXPECT_THAT(Events(), ElementsAre("a", "1", "2", "3"));
}

TEST_F(TransactionCommitterTest, NoTransactionStaysOpenWhileARowBlocks) {
  Begin();
  kafka_.bad_topics["outbox.event.bad"] = Error(ErrorCode::kTopicUnknown, "bad");
  postgres_.Commit({Event("1"), {.type = "bad", .key = "2", .payload = "{}"}});
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_THAT(Transactions(), ElementsAre(ElementsAre("1")));
  EXPECT_EQ(Recorded().partial.row_lsn, Lsn(100));
  kafka_.bad_topics.clear();
  Pass(seconds(5));
  EXPECT_THAT(Events(), ElementsAre("1", "2"));
}

TEST_F(TransactionCommitterTest, NoTransactionStaysOpenWhileItsRecordIsRefused) {
  Begin();
  kafka_.bad_topics[std::string(testing::kProgressTopic)] = Error(ErrorCode::kTopicUnknown, "gone");
  Commit("a");
  Pass(seconds(1));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kProgressDenied);
  EXPECT_THAT(kafka_.uncommitted(), IsEmpty());
  kafka_.bad_topics.clear();
  Pass(std::chrono::minutes(1));
  EXPECT_THAT(Transactions(), ElementsAre(ElementsAre("a")));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(TransactionCommitterTest, ARecordThatIsRefusedWithoutAStreamEndsTheTransaction) {
  LoseTheConnectionAndTheTopicInATransaction();
  Pass(seconds(1));
  EXPECT_EQ(ShownError(), ErrorCode::kProgressDenied);
  EXPECT_THAT(kafka_.uncommitted(), IsEmpty());
}

// The stream of the next attempt has the last transaction and the event in one read.
TEST_F(TransactionCommitterTest, ARefusedRecordIsOfferedAgainBeforeItsEvents) {
  config_.pipeline.confirm_interval = seconds(5);
  Begin();
  const Lsn recorded = Commit("a");
  Pass(milliseconds(10));
  kafka_.bad_topics[std::string(testing::kProgressTopic)] = Error(ErrorCode::kTopicUnknown, "gone");
  Commit("b");
  Pass(seconds(1));
  ASSERT_EQ(State(), RelayState::kBlocked);
  ASSERT_LT(postgres_.confirmed(), recorded);
  kafka_.bad_topics.clear();
  kafka_.looked_up_topics.insert(std::string(testing::kProgressTopic));
  Pass(std::chrono::minutes(1));
  EXPECT_THAT(Transactions(), ElementsAre(ElementsAre("a"), ElementsAre("b")));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

// The record that is offered again names the event, with a frontier before it.
TEST_F(TransactionCommitterTest, AnEventIsConfirmedSoonAfterARefusalAndAReconnection) {
  Begin();
  const Lsn end = ReconnectAfterARefusal();
  while (Events().empty()) {
    Pass(milliseconds(10));
  }
  Pass(milliseconds(500));
  EXPECT_EQ(postgres_.confirmed(), end);
}

// The topic may have been deleted, and created again by the brokers.
TEST_F(TransactionCommitterTest, ARefusedRecordIsReadAgain) {
  Begin();
  Commit("a");
  Pass(seconds(1));
  kafka_.bad_topics[std::string(testing::kProgressTopic)] = Error(ErrorCode::kTopicUnknown, "gone");
  Commit("b");
  Run();
  kafka_.bad_topics.clear();
  kafka_.log.clear();
  Pass(std::chrono::minutes(1));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_EQ(ShownError(), ErrorCode::kProgressMissing);
  EXPECT_THAT(Events(), IsEmpty());
}

// --- the stream ends

TEST_F(TransactionCommitterTest, ALostConnectionEndsTheTransaction) {
  Begin();
  postgres_.SendOpenTransaction(Rows(2));
  Run();
  ASSERT_THAT(kafka_.uncommitted(), SizeIs(2));
  postgres_.BreakConnection();
  Pass(milliseconds(1));
  EXPECT_THAT(Transactions(), ElementsAre(ElementsAre("1", "2")));
  EXPECT_EQ(Recorded().partial.row_lsn, Lsn(101));
}

// Without a stream nothing else wakes the loop.
TEST_F(TransactionCommitterTest, ARefusalAfterALostConnectionIsHandledSoon) {
  LoseTheConnectionAndTheTopicInATransaction();
  const Wakeup wakeup = relay_->Turn();
  ASSERT_FALSE(postgres_.streaming());
  EXPECT_LE(wakeup.at, clock_.Now() + milliseconds(100));
  relay_->Turn();
  EXPECT_THAT(kafka_.uncommitted(), IsEmpty());
}

// A connection attempt may block for ten seconds.
TEST_F(TransactionCommitterTest, TheEndOfATransactionDelaysTheNextConnection) {
  const size_t opens = LoseTheConnectionBeforeAnAcknowledgement();
  Pass(seconds(1));
  EXPECT_EQ(postgres_.opens, opens);
  kafka_.auto_acknowledge = true;
  kafka_.AcknowledgeAll();
  Pass(milliseconds(10));
  EXPECT_THAT(Transactions(), ElementsAre(ElementsAre("a")));
  EXPECT_EQ(postgres_.opens, opens + 1);
}

TEST_F(TransactionCommitterTest, ATransactionThatDoesNotEndDelaysAConnectionForFiveSeconds) {
  const size_t opens = LoseTheConnectionBeforeAnAcknowledgement();
  Pass(milliseconds(4900));
  EXPECT_EQ(postgres_.opens, opens);
  Pass(milliseconds(200));
  EXPECT_EQ(postgres_.opens, opens + 1);
  EXPECT_THAT(Transactions(), IsEmpty());
}

TEST_F(TransactionCommitterTest, ADrainCommits) {
  Begin();
  kafka_.hold_commit = true;
  const Lsn end = Commit("a");
  Pass(milliseconds(10));
  relay_->Drain();
  Pass(seconds(1));
  ASSERT_FALSE(relay_->finished());
  kafka_.hold_commit = false;
  Pass(seconds(1));
  EXPECT_TRUE(relay_->finished());
  EXPECT_THAT(Events(), ElementsAre("a"));
  EXPECT_EQ(postgres_.confirmed(), end);
  EXPECT_FALSE(kafka_.sealed());
}

TEST_F(TransactionCommitterTest, APromotionContinuesAfterTheRecord) {
  Begin();
  const Lsn before = postgres_.confirmed();
  Commit("a");
  const Lsn end = Commit("b");
  Pass(seconds(1));
  postgres_.info.server.ancestors = {{.timeline = 1, .end = end}};
  postgres_.info.server.timeline = 2;
  postgres_.info.slot->confirmed_flush_lsn = before;
  postgres_.BreakConnection();
  Pass(seconds(5));
  Commit("c");
  Pass(seconds(1));
  EXPECT_THAT(Events(), ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace walrelay
