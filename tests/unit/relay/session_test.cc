// One stream until its first error: reading, the in-flight window, obstacles, reports to the
// server.
#include "relay/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fakes/fake_snapshots.h"
#include "fakes/session_fixture.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SessionTest : public testing::SessionFixture {
 protected:
  // Whether the session requests to be woken by data from the server.
  bool Reads() const { return session_->NextWakeup().source_readable; }
  Micros TimeToWakeup() const { return session_->NextWakeup().at - clock_.Now(); }
  // Of the open transaction.
  void SendRow(const std::string& key) {
    postgres_.SendRaw(
        testing::InsertMessage(testing::kOutboxOid, testing::TextRow({key, "order", key, "{}"})));
  }
  double Received(std::string_view type) { return metrics_.replication_messages[type].Value(); }
};

// --- confirming ---

TEST_F(SessionTest, OutOfOrderAcknowledgementsConfirmOnlyTheContiguousPrefix) {
  Start();
  const Lsn before = postgres_.confirmed();
  Commit("a");
  const Lsn second = Commit("b");
  Run();
  kafka_.Acknowledge(1);
  Pass(seconds(11));
  EXPECT_EQ(postgres_.confirmed(), before);
  kafka_.Acknowledge(0);
  Pass(milliseconds(150));
  EXPECT_EQ(postgres_.confirmed(), second);
}

TEST_F(SessionTest, TrafficOfOtherTablesIsConfirmedWhileTheOutboxIsIdle) {
  Start();
  const Lsn end = postgres_.OtherTraffic();
  Pass(milliseconds(150));
  EXPECT_EQ(postgres_.confirmed(), end);
}

TEST_F(SessionTest, KeepaliveDoesNotConfirmPastAnEventInFlight) {
  Start();
  const Lsn before = postgres_.confirmed();
  Commit("a");
  const Lsn end = postgres_.OtherTraffic();
  Pass(seconds(11));
  EXPECT_EQ(postgres_.confirmed(), before);
  kafka_.AcknowledgeAll();
  Pass(milliseconds(150));
  EXPECT_EQ(postgres_.confirmed(), end);
}

TEST_F(SessionTest, RequestedReplyIsSentAtOnce) {
  Start();
  const size_t before = postgres_.updates.size();
  postgres_.Keepalive(postgres_.info.server.wal_end, true);
  Pass(milliseconds(20));
  EXPECT_EQ(postgres_.updates.size(), before + 1);
  EXPECT_FALSE(postgres_.updates.back().reply_requested);
  EXPECT_EQ(metrics_.replication_status_updates["requested"].Value(), 1);
}

TEST_F(SessionTest, FinishSendsTheFrontierAndClosesTheStream) {
  Start();
  const Lsn end = Commit("a");
  Run();
  kafka_.AcknowledgeAll();
  Poll();
  EXPECT_THAT(session_->Finish(seconds(1)), IsOk());
  EXPECT_EQ(postgres_.confirmed(), end);
  EXPECT_TRUE(postgres_.finished_in_order);
}

TEST_F(SessionTest, UnsentOutputIsFlushedWhenTheSocketIsWritable) {
  Start();
  EXPECT_FALSE(session_->NextWakeup().source_writable);
  postgres_.unsent = true;
  EXPECT_TRUE(session_->NextWakeup().source_writable);
  Run();
  EXPECT_FALSE(postgres_.unsent);
}

// --- silence and the end of the server ---

TEST_F(SessionTest, SilentServerIsPingedThenDisconnected) {
  Start();
  Pass(seconds(29));
  EXPECT_THAT(result_, IsOk());
  EXPECT_TRUE(std::any_of(postgres_.updates.begin(), postgres_.updates.end(),
                          [](const StandbyStatus& update) { return update.reply_requested; }));
  Pass(seconds(3));
  EXPECT_THAT(result_, HasError(ErrorCode::kServerSilent));
}

TEST_F(SessionTest, MessageArrivingInPiecesIsNotSilence) {
  Start();
  for (int i = 0; i < 60; ++i) {
    postgres_.trickle = true;
    Pass(seconds(1));
  }
  EXPECT_THAT(result_, IsOk());
}

TEST_F(SessionTest, RepeatedReplyRequestsAtOnePositionMeanThatTheServerLeaves) {
  Start();
  Commit("a");  // never acknowledged: the server waits for a position that is not confirmed
  for (int i = 0; i < 30; ++i) {
    postgres_.Keepalive(postgres_.info.server.wal_end, true);
    Pass(milliseconds(20));
  }
  EXPECT_THAT(result_, HasError(ErrorCode::kPostgresShuttingDown));
  EXPECT_EQ(postgres_.confirmed(), Lsn(1000));
}

TEST_F(SessionTest, LostConnectionEndsTheSession) {
  Start();
  postgres_.BreakConnection();
  Run();
  EXPECT_THAT(result_, HasError(ErrorCode::kConnectionLost));
}

// --- messages ---

TEST_F(SessionTest, MessagesAreCountedByType) {
  Start();
  Commit("a");
  postgres_.OtherTraffic();
  Run();
  EXPECT_EQ(Received("begin"), 1);
  EXPECT_EQ(Received("relation"), 2);
  EXPECT_EQ(Received("insert"), 1);
  EXPECT_EQ(Received("commit"), 1);
  EXPECT_EQ(Received("keepalive"), 1);
  EXPECT_GT(metrics_.replication_received_bytes->Value(), 100);
}

TEST_F(SessionTest, InvalidMessageEndsTheSessionAfterTheMessagesBeforeIt) {
  Start();
  Commit("a");
  postgres_.SendRaw("Z");
  Commit("b");
  Run();
  EXPECT_THAT(result_, HasError(ErrorCode::kProtocolViolation));
  EXPECT_EQ(kafka_.in_flight.size(), 1u);
}

TEST_F(SessionTest, StreamAbortsBetweenTransactionsAreCountedAndIgnored) {
  Start();
  Commit("a");
  for (uint32_t subxid = 756; subxid < 776; ++subxid) {
    postgres_.SendRaw(testing::StreamAbortMessage(755, subxid));
  }
  const Lsn end = Commit("b");
  Run();
  kafka_.AcknowledgeAll();
  Pass(milliseconds(150));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
  EXPECT_EQ(postgres_.confirmed(), end);
  EXPECT_EQ(Received("stream_abort"), 20);
}

// The stream would contain rows that were rolled back.
TEST_F(SessionTest, StreamAbortOfTheOpenTransactionEndsTheSession) {
  Start();
  postgres_.SendOpenTransaction({Event("a")});
  postgres_.SendRaw(testing::StreamAbortMessage(7, 8));
  Run();
  EXPECT_THAT(result_, HasError(ErrorCode::kProtocolViolation));
}

TEST_F(SessionTest, LagIsThatOfTheLastCommitUntilTheStreamIsIdle) {
  Start();
  EXPECT_EQ(session_->View().lag, Micros(0));
  const WallTime committed = clock_.WallNow();
  clock_.Advance(milliseconds(3));
  const Lsn commit = postgres_.info.server.wal_end;
  postgres_.SendRaw(testing::BeginMessage(commit, committed, 7));
  postgres_.SendRaw(testing::CommitMessage(commit, Lsn(commit.value() + 8), committed));
  Run();
  EXPECT_EQ(session_->View().lag, milliseconds(3));
  Pass(seconds(2));
  EXPECT_EQ(session_->View().lag, Micros(0));
}

// As many bytes as may be pending: a few large rows, long before there are many messages.
TEST_F(SessionTest, LaggingSessionHoldsNoMoreThanMayBePending) {
  Start();
  const WallTime committed = clock_.WallNow() - seconds(1);
  const Lsn commit = postgres_.info.server.wal_end;
  postgres_.SendRaw(testing::BeginMessage(commit, committed, 7));
  postgres_.info.server.wal_end = Lsn(commit.value() + 8);
  postgres_.SendRaw(testing::CommitMessage(commit, postgres_.info.server.wal_end, committed));
  Run();
  EXPECT_EQ(session_->View().lag, seconds(1));
  Commit("small");
  clock_.Advance(milliseconds(1));
  EXPECT_THAT(Turn(), IsOk());
  EXPECT_EQ(kafka_.in_flight.size(), 0u);
  postgres_.Commit({{.key = "large", .payload = std::string(600'000, 'x')}});
  clock_.Advance(milliseconds(1));
  EXPECT_THAT(Turn(), IsOk());
  EXPECT_EQ(kafka_.in_flight.size(), 2u);
}

TEST_F(SessionTest, StagesOfTransactionsWithEventsAreMeasured) {
  Start();
  postgres_.Commit({{.key = "x", .outbox = false}});
  Run();
  EXPECT_EQ(stages_.postgres.TakeMedian(), std::nullopt);
  Commit("a");
  clock_.Advance(milliseconds(5));
  Run();
  EXPECT_TRUE(stages_.postgres.TakeMedian());
  EXPECT_GE(stages_.relay.TakeMedian(), milliseconds(4));
}

// --- the in-flight window ---

TEST_F(SessionTest, WindowBoundsRecordsInFlightAndStopsReading) {
  config_.pipeline.max_in_flight_records = 10;
  Start();
  for (int i = 0; i < 100; ++i) {
    Commit(std::to_string(i));
  }
  Run();
  EXPECT_EQ(kafka_.in_flight.size(), 10u);
  EXPECT_FALSE(Reads());
  EXPECT_THAT(session_->waits_for(), HasSubstr("the in-flight window is full"));
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_EQ(kafka_.log.size(), 100u);
  EXPECT_TRUE(Reads());
  EXPECT_EQ(session_->waits_for(), "");
}

TEST_F(SessionTest, StuckRecordBoundsLaterTransactions) {
  config_.pipeline.max_in_flight_records = 10;
  Start();
  for (int i = 0; i < 100; ++i) {
    Commit(std::to_string(i));
    Run();
    if (kafka_.in_flight.size() > 1) {
      kafka_.Acknowledge(1);
    }
  }
  Run();
  EXPECT_LE(kafka_.log.size(), 10u);
}

TEST_F(SessionTest, OneRecordLargerThanTheWindowIsAdmitted) {
  config_.pipeline.max_in_flight_bytes = 10;
  kafka_.auto_acknowledge = true;
  Start();
  for (int i = 0; i < 3; ++i) {
    postgres_.Commit({{.key = "large", .payload = std::string(1000, 'x')}});
  }
  Pass(seconds(1));
  EXPECT_EQ(kafka_.log.size(), 3u);
}

TEST_F(SessionTest, BackPressureKeepsReportingAndIsNotSilence) {
  config_.pipeline.max_in_flight_records = 1;
  Start();
  Commit("a");
  Commit("b");
  Run();
  const MonoTime since = clock_.Now();
  const size_t updates = postgres_.updates.size();
  Pass(minutes(2));
  EXPECT_THAT(result_, IsOk());
  EXPECT_GE(postgres_.updates.size(), updates + 12);  // one per third of the server's timeout
  EXPECT_EQ(session_->stalled_since(), since);
  EXPECT_NEAR(metrics_.backpressure_seconds->Value(), 120, 2);
}

class SessionWindowTest : public SessionTest {
 protected:
  // The bytes that the sink holds for `rows` rows while none is acknowledged.
  size_t HeldOf(size_t rows, const std::string& payload) {
    Start();
    postgres_.Commit(std::vector<testing::FakeRow>(rows, {.key = "k", .payload = payload}));
    Pass(seconds(2));
    size_t bytes = 0;
    for (const testing::FakeRecord& record : kafka_.in_flight) {
      bytes += record.value->size();
      for (const auto& [name, value] : record.headers) {
        bytes += name.size() + value.size();
      }
    }
    return bytes;
  }
};

// Each row has its payload in the value and in four headers, so headers are most of the bytes.
TEST_F(SessionWindowTest, LargeHeadersStayWithinTheWindow) {
  constexpr size_t kRecord = 5 * 50'000 + 1'000;
  config_.pipeline.max_in_flight_bytes = 1'000'000;
  for (const char* name : {"h1", "h2", "h3", "h4"}) {
    config_.source.tables[0].placements.push_back(
        {.column = "payload", .where = Placement::Where::kHeader, .name = name});
  }
  const size_t held = HeldOf(200, std::string(50'000, 'x'));
  EXPECT_GT(held, 500'000u);
  EXPECT_LT(held, 1'000'000 + kRecord);
}

TEST_F(SessionWindowTest, RecordsWithoutBytesStayWithinTheWindow) {
  config_.pipeline.max_in_flight_bytes = 100'000;
  (void)HeldOf(2'000, "");
  EXPECT_LE(kafka_.in_flight.size(), 100'000 / Record::kOverheadBytes + 1);
  EXPECT_GT(kafka_.in_flight.size(), 50u);
}

// --- reports ---

// The turn of the next row takes them.
TEST_F(SessionTest, ReportsDoNotWakeTheLoopAtOnce) {
  Start();
  EXPECT_TRUE(session_->NextWakeup().producer_readable);
  Commit("a");
  Run();
  EXPECT_FALSE(session_->NextWakeup().producer_readable);
  EXPECT_TRUE(Reads());
  EXPECT_EQ(TimeToWakeup(), milliseconds(10));
  clock_.Advance(milliseconds(10));
  EXPECT_TRUE(session_->NextWakeup().producer_readable);
}

TEST_F(SessionTest, ReportsWakeTheLoopWhileNothingIsInFlight) {
  Start();
  Commit("a");
  Run();
  kafka_.AcknowledgeAll();
  Poll();
  EXPECT_TRUE(session_->NextWakeup().producer_readable);
}

TEST_F(SessionTest, ReportsWakeTheLoopIfARowWaitsForThem) {
  Start();
  Commit("first");
  Run();
  Commit("second");
  Run();
  EXPECT_TRUE(session_->NextWakeup().producer_readable);
}

TEST_F(SessionTest, ReportsWakeTheLoopIfACommitWaitsForThem) {
  config_.pipeline.mode = PipelineMode::kExactlyOnce;
  Start();
  Commit("a");
  Run();
  ASSERT_EQ(kafka_.in_flight.size(), 1u);
  EXPECT_TRUE(session_->NextWakeup().producer_readable);
}

TEST_F(SessionTest, ReportsWakeTheLoopIfEachIsToBeConfirmedAtOnce) {
  config_.pipeline.confirm_interval = milliseconds(5);
  Start();
  Commit("a");
  Run();
  EXPECT_TRUE(session_->NextWakeup().producer_readable);
}

// --- waves ---

TEST_F(SessionTest, EventWaitsForTheAcknowledgementOfAnEarlierOne) {
  Start();
  Commit("first");
  Run();
  Commit("second");
  Commit("third");
  Run();
  EXPECT_EQ(kafka_.in_flight.size(), 1u);
  EXPECT_FALSE(Reads());
  kafka_.AcknowledgeAll();
  Run();
  EXPECT_EQ(kafka_.in_flight.size(), 2u);
  EXPECT_TRUE(Reads());
}

TEST_F(SessionTest, EventWaitsForTwoMillisecondsAtTheLongest) {
  Start();
  Commit("first");
  Run();
  Commit("second");
  Run();
  EXPECT_EQ(TimeToWakeup(), milliseconds(2));
  clock_.Advance(milliseconds(2));
  Run();
  EXPECT_EQ(kafka_.in_flight.size(), 2u);
}

TEST_F(SessionTest, RowsThatArriveFastAreSentTogether) {
  Start();
  Commit("first");
  Run();
  kafka_.AcknowledgeAll();
  Poll();
  for (const char* key : {"second", "third", "fourth"}) {
    Commit(key);
  }
  Run();
  kafka_.AcknowledgeAll();
  Poll();
  Commit("fifth");
  Run();
  EXPECT_EQ(kafka_.in_flight.size(), 0u);
  EXPECT_FALSE(Reads());
  EXPECT_FALSE(session_->NextWakeup().producer_readable);
  EXPECT_EQ(TimeToWakeup(), milliseconds(5));
  clock_.Advance(milliseconds(5));
  Run();
  EXPECT_EQ(kafka_.in_flight.size(), 1u);
}

TEST_F(SessionTest, CommitDoesNotWaitForAnAcknowledgement) {
  Start();
  postgres_.SendOpenTransaction({Event("first")});
  Run();
  const Lsn commit = postgres_.info.server.wal_end;
  postgres_.SendRaw(testing::CommitMessage(commit, Lsn(commit.value() + 8), clock_.WallNow()));
  EXPECT_TRUE(Reads());
  Run();
  EXPECT_FALSE(pipeline_->in_transaction());
}

TEST_F(SessionTest, DrainDoesNotWaitForAnAcknowledgement) {
  Start();
  postgres_.SendOpenTransaction({Event("first")});
  Run();
  draining_ = true;
  SendRow("second");
  Run();
  EXPECT_EQ(kafka_.in_flight.size(), 2u);
}

// The transaction is the wave: holding an event back would delay its commit.
TEST_F(SessionTest, NoEventWaitsWithTransactions) {
  config_.pipeline.mode = PipelineMode::kExactlyOnce;
  Start();
  Commit("first");
  Run();
  Commit("second");
  Run();
  EXPECT_EQ(kafka_.in_flight.size(), 2u);
}

// --- waiting for the sink, a topic, an operator ---

TEST_F(SessionTest, FullProducerQueueBlocksAndLosesNothing) {
  kafka_.queue_limit = 3;
  Start();
  for (int i = 0; i < 20; ++i) {
    Commit(std::to_string(i));
  }
  Run();
  EXPECT_EQ(kafka_.in_flight.size(), 3u);
  EXPECT_THAT(session_->waits_for(), HasSubstr("its queue is full"));
  EXPECT_FALSE(Reads());
  kafka_.auto_acknowledge = true;
  Pass(seconds(1));
  EXPECT_EQ(kafka_.log.size(), 20u);
}

TEST_F(SessionTest, PendingTopicMetadataBlocksInOrder) {
  kafka_.pending_topics = {"outbox.event.order"};
  kafka_.auto_acknowledge = true;
  Start();
  Commit("a");
  postgres_.Commit({{.type = "payment", .key = "b", .payload = "{}"}});
  Run();
  EXPECT_THAT(kafka_.log, IsEmpty());
  EXPECT_TRUE(session_->waits_for_topic());
  EXPECT_THAT(session_->waits_for(), HasSubstr("metadata of a new topic"));
  kafka_.pending_topics.clear();
  Pass(seconds(2));
  EXPECT_FALSE(session_->waits_for_topic());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
}

TEST_F(SessionTest, TopicsBehindAPendingOneAreAnnouncedOnce) {
  kafka_.pending_topics = {"outbox.event.order"};
  kafka_.auto_acknowledge = true;
  Start();
  Commit("a");
  postgres_.Commit({{.type = "payment", .key = "b", .payload = "{}"},
                    {.type = "refund", .key = "c", .payload = "{}"}});
  Run();
  EXPECT_THAT(kafka_.announced, ElementsAre("outbox.event.payment", "outbox.event.refund"));
  postgres_.Commit({{.type = "payment", .key = "d", .payload = "{}"}});
  Pass(seconds(2));
  EXPECT_THAT(kafka_.announced,
              ElementsAre("outbox.event.payment", "outbox.event.refund", "outbox.event.payment"));
  EXPECT_THAT(kafka_.log, IsEmpty());
  kafka_.pending_topics.clear();
  Pass(seconds(2));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b", "c", "d"));
  kafka_.pending_topics = {"outbox.event.order"};
  Commit("e");
  postgres_.Commit({{.type = "late", .key = "f", .payload = "{}"}});
  Pass(seconds(2));
  EXPECT_EQ(kafka_.announced.back(), "outbox.event.late");
  EXPECT_EQ(kafka_.announced.size(), 4u);
}

TEST_F(SessionTest, TopicThatCouldNotBeAnnouncedIsAnnouncedLater) {
  kafka_.pending_topics = {"outbox.event.order"};
  kafka_.most_announced = 1;
  Start();
  postgres_.Commit({Event("a"),
                    {.type = "payment", .key = "b", .payload = "{}"},
                    {.type = "refund", .key = "c", .payload = "{}"}});
  Run();
  EXPECT_THAT(kafka_.announced, ElementsAre("outbox.event.payment"));
  kafka_.most_announced = 2;
  Run();
  EXPECT_THAT(kafka_.announced, ElementsAre("outbox.event.payment", "outbox.event.refund"));
}

TEST_F(SessionTest, NothingIsAnnouncedWhileTopicsAreKnown) {
  Start();
  Commit("a");
  Commit("b");
  Run();
  EXPECT_THAT(kafka_.announced, IsEmpty());
}

TEST_F(SessionTest, RecordOfARefusedBatchIsAwaited) {
  Start();
  sender_->StepThrough({Lsn(1000), Lsn(100), 1});
  postgres_.Commit({Event("a"), Event("b")});
  Run();
  EXPECT_EQ(kafka_.in_flight.size(), 1u);
  EXPECT_THAT(session_->waits_for(), HasSubstr("one at a time"));
  EXPECT_TRUE(session_->stalled_since());
  EXPECT_FALSE(Reads());
  kafka_.AcknowledgeAll();
  Run();
  EXPECT_EQ(session_->waits_for(), "");
  EXPECT_FALSE(session_->stalled_since());
}

class ObstacleTest : public SessionTest {
 protected:
  void Block(ErrorCode code = ErrorCode::kTopicUnknown) {
    kafka_.bad_topics["outbox.event.order"] = Error(code, "outbox.event.order");
  }
  size_t AttemptsIn(Micros time) {
    const size_t before = kafka_.offered;
    Pass(time);
    return kafka_.offered - before;
  }
  double Errors(ErrorCode code) { return metrics_.route_errors[ToString(code)].Value(); }
};

TEST_F(ObstacleTest, ObstacleBlocksUntilItIsRemoved) {
  kafka_.auto_acknowledge = true;
  Block();
  Start();
  Commit("a");
  Commit("b");
  Pass(seconds(10));
  EXPECT_THAT(result_, IsOk());
  EXPECT_THAT(session_->blocking_error(), HasError(ErrorCode::kTopicUnknown));
  EXPECT_THAT(session_->waits_for(), HasSubstr("the cause of the error to be fixed"));
  EXPECT_FALSE(Reads());
  kafka_.bad_topics.clear();
  Pass(seconds(31));
  EXPECT_THAT(session_->blocking_error(), IsOk());
  EXPECT_THAT(kafka_.Keys(), ElementsAre("a", "b"));
}

TEST_F(ObstacleTest, PausesBetweenAttemptsGrowToHalfAMinute) {
  Block();
  Start();
  Commit("a");
  EXPECT_EQ(AttemptsIn(milliseconds(500)), 1u);
  EXPECT_EQ(AttemptsIn(seconds(3)), 2u);   // after 1 s and 3 s
  EXPECT_EQ(AttemptsIn(seconds(60)), 4u);  // after 7, 15, 31 and 61 s
  EXPECT_EQ(AttemptsIn(minutes(5)), 10u);
}

TEST_F(ObstacleTest, ObstacleIsCountedOnceUntilItChanges) {
  Block();
  Start();
  Commit("a");
  Pass(minutes(1));
  EXPECT_EQ(Errors(ErrorCode::kTopicUnknown), 1);
  Block(ErrorCode::kTopicDenied);
  Pass(minutes(1));
  EXPECT_EQ(Errors(ErrorCode::kTopicDenied), 1);
  EXPECT_THAT(session_->blocking_error(), HasError(ErrorCode::kTopicDenied));
}

TEST_F(ObstacleTest, ErrorOfTheProducerEndsTheSession) {
  Start();
  Commit("a");
  kafka_.health = Error(ErrorCode::kProducerFailed, "fatal");
  Run();
  EXPECT_THAT(result_, HasError(ErrorCode::kProducerFailed));
}

// --- visibility ---

class SessionVisibilityTest : public SessionTest {
 protected:
  ~SessionVisibilityTest() override { session_.reset(); }
  // FakePostgres' transactions have xid 7: all xids below `xmax` are visible.
  void Answer(uint64_t xmax) {
    snapshots_.Answer(XidSnapshot{.xmin = xmax, .xmax = xmax});
    Run();
  }

  testing::FakeSnapshots snapshots_;
};

TEST_F(SessionVisibilityTest, TransactionIsHeldUntilItIsVisible) {
  Start(&snapshots_);
  EXPECT_EQ(snapshots_.walsender_pid, testing::kOurPid);
  Commit("a");
  Run();
  EXPECT_THAT(session_->waits_for(), HasSubstr("visible"));
  EXPECT_THAT(kafka_.in_flight, IsEmpty());
  Answer(8);
  Pass(seconds(1));
  EXPECT_EQ(kafka_.in_flight.size(), 1u);
  EXPECT_THAT(session_->View().unseen, IsOk());
}

TEST_F(SessionVisibilityTest, LongWaitHasAReason) {
  Start(&snapshots_);
  EXPECT_THAT(session_->View().unseen, IsOk());
  Commit("a");
  for (int i = 0; i < 40; ++i) {
    Answer(7);
    Pass(seconds(1));
  }
  EXPECT_THAT(result_, IsOk());
  EXPECT_THAT(session_->View().unseen, HasError(ErrorCode::kVisibilityUnknown));
  EXPECT_TRUE(session_->stalled_since());
}

// --- draining ---

TEST_F(SessionTest, DrainFinishesTheOpenTransactionAndReadsNoMore) {
  Start();
  postgres_.SendOpenTransaction({Event("first")});
  Run();
  draining_ = true;
  const Lsn commit = postgres_.info.server.wal_end;
  SendRow("second");
  postgres_.SendRaw(testing::CommitMessage(commit, Lsn(commit.value() + 8), clock_.WallNow()));
  postgres_.SendOpenTransaction({Event("after the drain")});
  Pass(seconds(1));
  EXPECT_FALSE(pipeline_->in_transaction());
  kafka_.AcknowledgeAll();
  Pass(seconds(1));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("first", "second"));
  EXPECT_EQ(postgres_.confirmed(), Lsn(commit.value() + 8));
}

TEST_F(SessionTest, DrainSleepsDespiteUnreadMessages) {
  config_.pipeline.max_in_flight_records = 4;
  Start();
  postgres_.Commit({Event("a"), Event("b"), Event("c"), Event("d")});
  Commit("after the drain");
  Run();
  draining_ = true;
  kafka_.Acknowledge(0);
  kafka_.Acknowledge(0);
  Run();
  EXPECT_GT(TimeToWakeup(), Micros(0));
}

TEST_F(SessionTest, DrainLongerThanTheServersTimeoutIsNotSilence) {
  postgres_.info.server.wal_sender_timeout = seconds(5);
  Start();
  const Lsn end = Commit("a");
  Run();
  draining_ = true;
  Pass(seconds(15));
  EXPECT_THAT(result_, IsOk());
  kafka_.AcknowledgeAll();
  Pass(seconds(1));
  EXPECT_EQ(postgres_.confirmed(), end);
}

}  // namespace
}  // namespace walrelay
