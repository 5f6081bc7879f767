// The metrics of the relay, and their memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/relay_fixture.h"
#include "fakes/status_matchers.h"
#include "relay/relay.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RelayMetricsTest : public testing::RelayFixture {
 protected:
  void Start() {
    kafka_.auto_acknowledge = true;
    MakeRelay();
    Run();
  }
  // Runs turns until nothing more happens at the current time and the gauges are updated.
  void Run() {
    for (int i = 0; i < 20; ++i) {
      relay_->Turn();
      clock_.Advance(std::chrono::milliseconds(25));
    }
  }
  void Publish(const std::string& type) {
    postgres_.Commit({{.type = type, .key = "k", .payload = "{}"}});
    Run();
  }
  std::string Page() const { return metrics_.Text(); }
  // A series of this pipeline, as on the page.
  static std::string Series(const std::string& name, const std::string& more = "") {
    return name + R"({slot="walrelay",source="db/shop")" + more + "}";
  }
};

TEST_F(RelayMetricsTest, TopicsBeyondTheLimitAreCountedTogether) {
  config_.metrics.max_topics = 2;
  Start();
  for (const char* type : {"a", "b", "c", "d", "a", "d"}) {
    Publish(type);
  }
  EXPECT_EQ(metrics_.events_published["outbox.event.a"].Value(), 2);
  EXPECT_EQ(metrics_.events_published["outbox.event.b"].Value(), 1);
  EXPECT_EQ(metrics_.events_published["__other__"].Value(), 3);
  EXPECT_THAT(Page(), Not(HasSubstr("outbox.event.c")));
}

TEST_F(RelayMetricsTest, MemoryOfTheMetricsDoesNotGrowWithTheTopics) {
  config_.metrics.max_topics = 5;
  Start();
  for (int i = 0; i < 300; ++i) {
    Publish("type" + std::to_string(i));
  }
  EXPECT_EQ(metrics_.events_published.size(), 6u);
}

TEST_F(RelayMetricsTest, HistoryHasAPointEveryTenSeconds) {
  Start();
  Publish("order");
  clock_.Advance(std::chrono::seconds(10));
  Run();
  clock_.Advance(std::chrono::seconds(10));
  Run();
  const auto history = board_.Snapshot().history;
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].events, 1u);
  EXPECT_TRUE(history[0].median.has_value());
  EXPECT_EQ(history[1].events, 0u);
  EXPECT_EQ(history[1].median, std::nullopt);
}

TEST_F(RelayMetricsTest, StatusReportsFiguresAndPastErrors) {
  Start();
  Publish("order");
  postgres_.BreakConnection();
  Run();
  const StatusSnapshot snapshot = board_.Snapshot();
  EXPECT_EQ(snapshot.relay.figures.acknowledged, 1u);
  EXPECT_EQ(snapshot.relay.figures.oldest_commit, std::nullopt);
  EXPECT_TRUE(snapshot.relay.figures.last_acknowledged.has_value());
  ASSERT_EQ(snapshot.errors.size(), 1u);
  EXPECT_THAT(snapshot.errors[0].error, HasError(ErrorCode::kConnectionLost, "cut"));
}

TEST_F(RelayMetricsTest, LatencyStagesAreMeasured) {
  Start();
  Publish("order");
  for (const std::string stage : {"postgres", "relay", "kafka"}) {
    EXPECT_THAT(
        Page(),
        HasSubstr(Series("_stage_latency_seconds_count", ",stage=\"" + stage + "\"") + " 1\n"));
  }
}

TEST_F(RelayMetricsTest, LatencyEndsWithTheAcknowledgementNotWithItsReport) {
  Start();
  Publish("order");
  const std::string sum = Series("walrelay_end_to_end_latency_seconds_sum");
  EXPECT_THAT(Page(), HasSubstr(sum + " 0.025\n"));  // the report comes in the next turn
  kafka_.report_delay = std::chrono::milliseconds(10);
  Publish("order");
  EXPECT_THAT(Page(), HasSubstr(sum + " 0.04\n"));
}

TEST_F(RelayMetricsTest, StandbyOmitsSeriesThatTheReaderExports) {
  Start();
  Publish("order");
  EXPECT_THAT(Page(), HasSubstr(Series("walrelay_leader") + " 1\n"));
  EXPECT_THAT(Page(), HasSubstr(Series("walrelay_oldest_unpublished_age_seconds") + " 0\n"));
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = 4711;
  postgres_.BreakConnection();
  clock_.Advance(std::chrono::seconds(1));
  Run();
  EXPECT_THAT(Page(), HasSubstr(Series("walrelay_state", R"(,state="standby")") + " 1\n"));
  EXPECT_THAT(Page(), HasSubstr(Series("walrelay_leader") + " 0\n"));
  EXPECT_THAT(Page(), Not(HasSubstr("walrelay_oldest_unpublished_age_seconds{")));
  EXPECT_THAT(Page(), Not(HasSubstr("walrelay_inflight_records{")));
}

TEST_F(RelayMetricsTest, OldestUnpublishedAgeGrowsWhileDisconnected) {
  Start();
  postgres_.open_error = Error(ErrorCode::kPostgresUnreachable, "unreachable");
  postgres_.BreakConnection();
  Run();
  clock_.Advance(std::chrono::minutes(5));
  Run();
  EXPECT_GE(metrics_.oldest_unpublished_age_seconds->Value(), 300);
}

// A connection attempt may take longer than a scrape.
TEST_F(RelayMetricsTest, SeriesOfAlertsExistBeforeTheFirstAttempt) {
  MakeRelay();
  EXPECT_THAT(Page(), HasSubstr(Series("walrelay_state", R"(,state="starting")") + " 1\n"));
  for (const char* name :
       {"walrelay_ready", "walrelay_leader", "walrelay_gap_held", "walrelay_replication_connected",
        "walrelay_oldest_unpublished_age_seconds"}) {
    EXPECT_THAT(Page(), HasSubstr(Series(name) + " 0\n"));
  }
}

// A restart during an outage must not silence the alerts.
TEST_F(RelayMetricsTest, AgeIsExportedFromTheStartOfAnOutage) {
  postgres_.open_error = Error(ErrorCode::kPostgresUnreachable, "unreachable");
  MakeRelay();
  relay_->Turn();
  EXPECT_THAT(Page(), HasSubstr("walrelay_oldest_unpublished_age_seconds{"));
  EXPECT_THAT(Page(), Not(HasSubstr("walrelay_replication_received_lsn{")));
  clock_.Advance(std::chrono::minutes(5));
  Run();
  EXPECT_GE(metrics_.oldest_unpublished_age_seconds->Value(), 300);
  const auto since = board_.Read().figures.cut_off_since;
  ASSERT_TRUE(since.has_value());
  EXPECT_GE(clock_.WallNow() - *since, std::chrono::minutes(5));
}

// The sampler may connect when the stream cannot.
TEST_F(RelayMetricsTest, AgeCountsFromWhenTheSlotBecameInactive) {
  postgres_.open_error = Error(ErrorCode::kNoSenderFree, "all in use");
  SlotSample slot{.exists = true, .row = {.confirmed_flush_lsn = Lsn(100)}, .wal_end = Lsn(900)};
  slot.lag_age = std::chrono::minutes(2);
  board_.SetSlot(slot, clock_.WallNow());
  MakeRelay();
  Run();
  EXPECT_GE(metrics_.oldest_unpublished_age_seconds->Value(), 120);
  EXPECT_LT(metrics_.oldest_unpublished_age_seconds->Value(), 130);
  slot.row.inactive_since = clock_.WallNow() - std::chrono::hours(1);
  board_.SetSlot(slot, clock_.WallNow());
  Run();
  EXPECT_GE(metrics_.oldest_unpublished_age_seconds->Value(), 3600);
}

// The progress of another instance is unknown.
TEST_F(RelayMetricsTest, DisconnectedStandbyExportsNoAge) {
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = 4711;
  MakeRelay();
  Run();
  EXPECT_EQ(board_.Read().state, RelayState::kStandby);
  postgres_.open_error = Error(ErrorCode::kPostgresUnreachable, "unreachable");
  postgres_.on_inspect = [&] { postgres_.BreakConnection(); };
  clock_.Advance(std::chrono::minutes(5));
  Run();
  EXPECT_THAT(Page(), Not(HasSubstr("walrelay_oldest_unpublished_age_seconds{")));
  EXPECT_EQ(board_.Read().figures.cut_off_since, std::nullopt);
}

TEST_F(RelayMetricsTest, BlockingRowIsTheOldestUnpublished) {
  Start();
  postgres_.Commit({{.key = std::nullopt}});
  Run();
  clock_.Advance(std::chrono::minutes(7));
  Run();
  EXPECT_EQ(board_.Read().state, RelayState::kBlocked);
  EXPECT_TRUE(board_.Read().figures.oldest_commit.has_value());
  EXPECT_GE(metrics_.oldest_unpublished_age_seconds->Value(), 420);
  // Also while Postgres is unreachable.
  postgres_.open_error = Error(ErrorCode::kPostgresUnreachable, "unreachable");
  postgres_.BreakConnection();
  Run();
  EXPECT_GE(metrics_.oldest_unpublished_age_seconds->Value(), 420);
}

// As the sampler reports a walsender that sends nothing beyond what was received.
SlotSample SilentSlot(const StatusBoard& board, SilenceCause cause) {
  SlotSample slot{.exists = true, .row = {.active = true}};
  slot.flushed = Lsn(board.Read().figures.received.value() + 1000);
  slot.activity = ReaderActivity();
  slot.standbys = {{"east", "does not exist"}};
  slot.silence = StreamSilence{.cause = cause,
                               .lasted = std::chrono::seconds(15),
                               .received = board.Read().figures.received,
                               .wait_event = "event"};
  return slot;
}

TEST_F(RelayMetricsTest, StreamThatWaitsForAStandbyIsNotUpToDate) {
  Start();
  Publish("order");
  Pass(std::chrono::seconds(20));
  EXPECT_TRUE(board_.ready());
  SlotSample slot = SilentSlot(board_, SilenceCause::kStandby);
  slot.silence->backend_pid = postgres_.info.server.backend_pid;
  board_.SetSlot(slot, clock_.WallNow());
  Pass(std::chrono::milliseconds(250));
  EXPECT_EQ(board_.Read().state, RelayState::kDegraded);
  EXPECT_EQ(ShownError(), ErrorCode::kStandbyAwaited);
  EXPECT_FALSE(board_.ready());
  EXPECT_GE(metrics_.oldest_unpublished_age_seconds->Value(), 15);
  EXPECT_TRUE(board_.Read().figures.cut_off_since.has_value());
  // What arrives ends it before the next sample.
  Publish("order");
  EXPECT_EQ(board_.Read().state, RelayState::kStreaming);
  EXPECT_EQ(metrics_.oldest_unpublished_age_seconds->Value(), 0);
}

// The server sends the published transaction again, and waits before the next one, as it has since
// before the connection broke.
TEST_F(RelayMetricsTest, WaitForAStandbyOutlivesTheConnection) {
  Start();
  Publish("order");
  Pass(std::chrono::seconds(20));
  postgres_.BreakConnection();
  Pass(std::chrono::seconds(5));
  ASSERT_EQ(board_.Read().state, RelayState::kStreaming);
  Publish("other");
  Pass(std::chrono::seconds(1));
  SlotSample slot = SilentSlot(board_, SilenceCause::kStandby);
  slot.silence->backend_pid = postgres_.info.server.backend_pid;
  slot.silence->lasted = std::chrono::minutes(5);
  board_.SetSlot(slot, clock_.WallNow());
  Pass(std::chrono::milliseconds(250));
  EXPECT_EQ(ShownError(), ErrorCode::kStandbyAwaited);
}

TEST_F(RelayMetricsTest, LongDecodingIsABacklogAndNoError) {
  Start();
  Publish("order");
  Pass(std::chrono::seconds(20));
  SlotSample slot = SilentSlot(board_, SilenceCause::kDecoding);
  slot.silence->backend_pid = postgres_.info.server.backend_pid;
  board_.SetSlot(slot, clock_.WallNow());
  Pass(std::chrono::milliseconds(250));
  EXPECT_EQ(board_.Read().state, RelayState::kCatchingUp);
  EXPECT_TRUE(board_.ready());
  EXPECT_GE(metrics_.oldest_unpublished_age_seconds->Value(), 15);
  // No row waits: the age would be a false alarm.
  board_.SetTables({TableReading{.name = "outbox", .unpublished = RowCount()}});
  Pass(std::chrono::milliseconds(250));
  EXPECT_EQ(metrics_.oldest_unpublished_age_seconds->Value(), 0);
}

TEST_F(RelayMetricsTest, SilenceOfAnotherProcessOrOfLongAgoDoesNotCount) {
  Start();
  Publish("order");
  Pass(std::chrono::seconds(20));
  SlotSample slot = SilentSlot(board_, SilenceCause::kStandby);
  slot.silence->backend_pid = postgres_.info.server.backend_pid + 1;
  board_.SetSlot(slot, clock_.WallNow());
  Pass(std::chrono::milliseconds(250));
  EXPECT_EQ(board_.Read().state, RelayState::kStreaming);
  slot.silence->backend_pid = postgres_.info.server.backend_pid;
  board_.SetSlot(slot, clock_.WallNow() - std::chrono::minutes(10));
  Pass(std::chrono::milliseconds(250));
  EXPECT_EQ(board_.Read().state, RelayState::kStreaming);
}

TEST_F(RelayMetricsTest, PageReportsProgressAndState) {
  Start();
  Publish("order");
  EXPECT_THAT(Page(), HasSubstr(Series("walrelay_events_received_total") + " 1\n"));
  EXPECT_THAT(Page(), HasSubstr(Series("walrelay_inflight_records") + " 0\n"));
  EXPECT_THAT(Page(), HasSubstr(Series("walrelay_state", R"(,state="streaming")") + " 1\n"));
  EXPECT_THAT(Page(), HasSubstr(Series("walrelay_ready") + " 1\n"));
}

// With pipeline.progress.
class ProgressStatusTest : public RelayMetricsTest {
 protected:
  ProgressStatusTest() { config_.pipeline.progress = ProgressRecording::kAuto; }

  ProgressStatus Shown() const { return board_.Read().progress.value_or(ProgressStatus()); }

  const std::string topic_ = "walrelay.progress.shop.walrelay";
};

TEST_F(RelayMetricsTest, NothingIsShownAboutProgressThatIsOff) {
  Start();
  Publish("order");
  EXPECT_FALSE(board_.Read().progress.has_value());
  EXPECT_THAT(Page(), Not(HasSubstr("walrelay_progress_recorded")));
}

TEST_F(ProgressStatusTest, RecordIsShown) {
  Start();
  Publish("order");
  Pass(std::chrono::seconds(1));
  EXPECT_TRUE(Shown().enabled);
  EXPECT_EQ(Shown().topic, topic_);
  EXPECT_EQ(Shown().frontier, board_.Read().figures.frontier);
  EXPECT_EQ(Shown().ahead_bytes, 0u);
  ASSERT_TRUE(Shown().written.has_value());
  EXPECT_LE(clock_.WallNow() - *Shown().written, std::chrono::seconds(3));
  EXPECT_EQ(metrics_.progress_recorded_lsn->Value(), metrics_.replication_flushed_lsn->Value());
  EXPECT_GT(metrics_.progress_recorded_timestamp->Value(), 0);
}

TEST_F(ProgressStatusTest, ARecordThatIsNotAcknowledgedIsAProblem) {
  Start();
  Publish("order");
  Pass(std::chrono::seconds(1));
  const Lsn recorded = Shown().frontier;
  kafka_.pending_topics.insert(topic_);
  Publish("order");
  Pass(std::chrono::seconds(4));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_EQ(Shown().frontier, recorded);
  EXPECT_GT(Shown().ahead_bytes, 0u);
  Pass(std::chrono::seconds(3));
  EXPECT_EQ(State(), RelayState::kDegraded);
  EXPECT_THAT(board_.Read().error, HasError(ErrorCode::kKafkaStalled, "progress record"));
  kafka_.pending_topics.clear();
  Pass(std::chrono::seconds(2));
  EXPECT_EQ(State(), RelayState::kStreaming);
  EXPECT_EQ(Shown().ahead_bytes, 0u);
}

TEST_F(ProgressStatusTest, BrokersThatCannotBeReachedAreTheCauseOfALateRecord) {
  Start();
  Publish("order");
  Pass(std::chrono::seconds(1));
  kafka_.pending_topics.insert(topic_);
  kafka_.trouble = Error(ErrorCode::kKafkaUnreachable, "one broker refuses connections");
  Publish("order");
  Pass(std::chrono::seconds(7));
  EXPECT_THAT(board_.Read().error, HasError(ErrorCode::kKafkaStalled, "progress record"));
  kafka_.reachable = false;
  Pass(std::chrono::seconds(1));
  EXPECT_THAT(board_.Read().error, HasError(ErrorCode::kKafkaUnreachable));
}

TEST_F(ProgressStatusTest, ContinuousTrafficIsNoProblem) {
  Start();
  for (int i = 0; i < 20; ++i) {
    Publish("order");
    Pass(std::chrono::milliseconds(500));
    EXPECT_EQ(board_.Read().state, RelayState::kStreaming);
  }
}

// An alert compares it with the acknowledged position.
TEST_F(ProgressStatusTest, PositionIsExportedBeforeTheFirstRecord) {
  kafka_.pending_topics.insert(topic_);
  Start();
  Publish("order");
  EXPECT_EQ(metrics_.progress_recorded_lsn->Value(), 0);
  EXPECT_THAT(Page(), Not(HasSubstr("walrelay_progress_recorded_timestamp_seconds{")));
  EXPECT_EQ(Shown().ahead_bytes, std::nullopt);
}

TEST_F(ProgressStatusTest, MissingRightIsShown) {
  progress_.error = Error(ErrorCode::kProgressDenied, "denied");
  Start();
  Publish("order");
  EXPECT_EQ(board_.Read().state, RelayState::kStreaming);
  EXPECT_FALSE(Shown().enabled);
  EXPECT_EQ(Shown().topic, topic_);
  EXPECT_THAT(Page(), Not(HasSubstr("walrelay_progress_recorded")));
}

TEST_F(ProgressStatusTest, StandbyDoesNotExportTheRecord) {
  Start();
  Publish("order");
  EXPECT_THAT(Page(), HasSubstr("walrelay_progress_recorded_lsn{"));
  postgres_.info.slot->active = true;
  postgres_.info.slot->active_pid = 4711;
  postgres_.BreakConnection();
  clock_.Advance(std::chrono::seconds(1));
  Run();
  EXPECT_EQ(board_.Read().state, RelayState::kStandby);
  EXPECT_THAT(Page(), Not(HasSubstr("walrelay_progress_recorded")));
}

class TransactionMetricsTest : public testing::RelayFixture {
 protected:
  TransactionMetricsTest() {
    config_.pipeline.progress = ProgressRecording::kAuto;
    config_.pipeline.mode = PipelineMode::kExactlyOnce;
    config_.source.create_slot = true;
    postgres_.info.slot.reset();
    kafka_.auto_acknowledge = true;
  }
  TransactionStatus Shown() const {
    return board_.Read().transactions.value_or(TransactionStatus());
  }
  double Failures(ErrorCode code) {
    return metrics_.kafka_transactions_failed[ToString(code)].Value();
  }
};

TEST_F(TransactionMetricsTest, StateOfTheTransactionIsShown) {
  kafka_.hold_claim = true;
  Start();
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Shown().state, TransactionState::kClaiming);
  kafka_.hold_claim = false;
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Shown().state, TransactionState::kIdle);
  EXPECT_EQ(metrics_.kafka_transaction_age->Value(), 0);
  kafka_.auto_acknowledge = false;  // then the commit waits
  Commit("a");
  Pass(std::chrono::seconds(2));
  EXPECT_EQ(Shown().state, TransactionState::kCommitting);
  EXPECT_TRUE(Shown().since.has_value());
  EXPECT_GT(metrics_.kafka_transaction_age->Value(), 1);
  const double before = metrics_.kafka_transactions_committed->Value();
  kafka_.auto_acknowledge = true;
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Shown().state, TransactionState::kIdle);
  EXPECT_EQ(metrics_.kafka_transactions_committed->Value(), before + 1);
  EXPECT_EQ(Shown().committed, metrics_.kafka_transactions_committed->Value());
}

TEST_F(TransactionMetricsTest, FailedTransactionIsCountedAndRemembered) {
  Start();
  Pass(std::chrono::seconds(1));
  kafka_.lost_commit = true;
  Commit("a");
  Pass(std::chrono::seconds(10));
  EXPECT_EQ(Failures(ErrorCode::kTransactionAborted), 1);
  EXPECT_THAT(Shown().failure, HasError(ErrorCode::kTransactionAborted));
  EXPECT_TRUE(Shown().failed.has_value());
  EXPECT_EQ(Shown().state, TransactionState::kIdle);  // the next sink has claimed the id
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(TransactionMetricsTest, DeniedIdBlocksWithoutAnEvent) {
  Start();
  Pass(std::chrono::seconds(1));
  kafka_.hold_claim = true;
  kafka_.health = Error(ErrorCode::kProducerFenced, "by another");
  Pass(std::chrono::seconds(5));
  EXPECT_EQ(Failures(ErrorCode::kProducerFenced), 1);
  EXPECT_EQ(Shown().state, TransactionState::kClaiming);
  kafka_.health = Error(ErrorCode::kTransactionalIdDenied, "no right");
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(State(), RelayState::kBlocked);
  EXPECT_THAT(board_.Read().error, HasError(ErrorCode::kTransactionalIdDenied));
  kafka_.hold_claim = false;
  Pass(std::chrono::seconds(60));
  EXPECT_EQ(State(), RelayState::kStreaming);
}

TEST_F(RelayMetricsTest, AtLeastOnceDeliveryHasNoTransactions) {
  Start();
  Publish("order");
  EXPECT_EQ(board_.Read().transactions, std::nullopt);
  EXPECT_THAT(Page(), Not(HasSubstr("walrelay_kafka_transaction")));
}

}  // namespace
}  // namespace walrelay
