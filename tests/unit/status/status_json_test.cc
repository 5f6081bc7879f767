// The JSON of a status report, read by the type generated from its schema.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "fakes/status_samples.h"
#include "status/status_report.h"
#include "walrelay/admin/v1/status.pb.h"

namespace walrelay {
namespace {

using admin::v1::Status;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Samples;

Status Parsed(const StatusReport& report) {
  Status status;
  const auto result = google::protobuf::util::JsonStringToMessage(StatusJson(report), &status);
  EXPECT_TRUE(result.ok()) << result.ToString() << "\n" << StatusJson(report);
  return status;
}

TEST(StatusJsonTest, EverySampleIsParsedByTheGeneratedType) {
  for (const auto& [name, report] : Samples()) {
    const Status status = Parsed(report);
    EXPECT_EQ(status.source(), name == "hostile" ? status.source() : "db1.example/shop");
    EXPECT_EQ(status.slot_name(), name == "hostile" ? status.slot_name() : "walrelay");
    EXPECT_EQ(status.has_relay(), name != "no_relay");
    EXPECT_EQ(status.history_size(), static_cast<int>(report.snapshot.history.size()));
  }
}

TEST(StatusJsonTest, StatesAndRisksMatchTheSchema) {
  StatusReport report = Samples().at("streaming");
  for (const RelayState state :
       {RelayState::kStarting, RelayState::kStandby, RelayState::kCatchingUp,
        RelayState::kStreaming, RelayState::kDegraded, RelayState::kBlocked, RelayState::kDraining,
        RelayState::kStopped}) {
    report.snapshot.relay.state = state;
    EXPECT_EQ(Status::State_Name(Parsed(report).relay().state()), NameOf(state));
  }
  for (const SlotRisk risk : {SlotRisk::kNone, SlotRisk::kNotice, SlotRisk::kWarning,
                              SlotRisk::kCritical, SlotRisk::kLost}) {
    report.snapshot.slot->risk = risk;
    EXPECT_EQ(Parsed(report).slot().risk(), Status::none + static_cast<int>(risk));
  }
}

TEST(StatusJsonTest, AProgressRecordThatIsNotReadHasItsCause) {
  StatusReport report = Samples().at("no_relay");
  EXPECT_FALSE(Parsed(report).has_record_failure());
  report.record_failure = Error(ErrorCode::kKafkaUnreachable, "no answer");
  EXPECT_EQ(Parsed(report).record_failure().code(), "WR-4001");
  EXPECT_EQ(Parsed(report).record_failure().message(), "no answer");
}

TEST(StatusJsonTest, PruningMatchesTheReport) {
  StatusReport report = Samples().at("streaming");
  EXPECT_FALSE(Parsed(report).has_pruning());
  report.snapshot.pruning = PruneStatus{
      .pruned = 7,
      .complete = report.now,
      .last = {.kept = 2,
               .oldest_kept = minutes(2),
               .locked = 1,
               .partitions = {.created = {}, .dropped = {}, .problems = {{"p1", "why"}}}},
      .paused = true,
      .error = Error(ErrorCode::kPruneDenied, "public.outbox")};
  const Status::Pruning pruning = Parsed(report).pruning();
  EXPECT_EQ(pruning.pruned_rows(), 7u);
  EXPECT_EQ(pruning.unproven_rows(), 2u);
  EXPECT_EQ(pruning.oldest_unproven_seconds(), 120);
  EXPECT_EQ(pruning.locked_ranges(), 1u);
  EXPECT_EQ(pruning.partition_problems(0).reason(), "why");
  EXPECT_TRUE(pruning.paused());
  EXPECT_EQ(pruning.error().code(), "WR-2322");
  EXPECT_TRUE(pruning.has_complete());
  EXPECT_THAT(StatusText(report), ::testing::HasSubstr("7 rows since the start"));
  EXPECT_THAT(StatusPage(report), ::testing::HasSubstr("<h2>Pruning</h2>"));
}

TEST(StatusJsonTest, TablesMatchTheReport) {
  StatusReport report = Samples().at("blocked");
  Status::Table table = Parsed(report).tables(0);
  EXPECT_EQ(table.schema(), "public");
  EXPECT_EQ(table.name(), "outbox");
  EXPECT_EQ(table.rows(), 84'310u);
  EXPECT_FALSE(table.rows_estimated());
  EXPECT_EQ(table.unpublished_rows(), 9'120u);
  EXPECT_EQ(table.unpublished_bound(), Status::at_most);
  EXPECT_TRUE(table.has_as_of());
  EXPECT_EQ(table.oldest_unpublished_seconds(), 19 * 60);
  EXPECT_EQ(table.unproven_rows(), 12u);
  EXPECT_EQ(table.size_bytes(), 44 * testing::kMiB);
  EXPECT_EQ(table.dead_rows(), 1'204u);
  EXPECT_EQ(table.wasted_bytes(), 31 * testing::kMiB - 84'310 * 320);
  EXPECT_EQ(Parsed(Samples().at("slot_almost_lost")).tables(0).unpublished_bound(),
            Status::at_least);
}

TEST(StatusJsonTest, WhatIsUnknownOfATableIsAbsent) {
  StatusReport report = Samples().at("streaming");
  TableReading& reading = report.snapshot.tables.front();
  reading.unpublished = reading.unproven = std::nullopt;
  reading.rows->bound = RowBound::kEstimate;
  for (const auto& [unread, name] : {std::pair(RowsUnread::kNoSelect, Status::Table::no_select),
                                     std::pair(RowsUnread::kPolicy, Status::Table::row_security),
                                     std::pair(RowsUnread::kFailed, Status::Table::failed)}) {
    reading.unread = unread;
    const Status::Table table = Parsed(report).tables(0);
    EXPECT_EQ(table.unread(), name);
    EXPECT_TRUE(table.rows_estimated());
    EXPECT_FALSE(table.has_unpublished_rows());
    EXPECT_FALSE(table.has_as_of());
    EXPECT_FALSE(table.has_unproven_rows());
  }
}

TEST(StatusJsonTest, FiguresMatchTheReport) {
  const Status status = Parsed(Samples().at("slot_almost_lost"));
  EXPECT_FALSE(status.ready());
  EXPECT_EQ(status.relay().events_acknowledged(), 4'182'907u);
  EXPECT_EQ(status.relay().records_in_flight(), 10'000u);
  EXPECT_EQ(status.slot().retained_bytes(), 7 * testing::kGiB + 800 * testing::kMiB);
  EXPECT_EQ(status.slot().max_retained_bytes(), 8 * testing::kGiB);
  EXPECT_EQ(status.slot().seconds_to_loss(), 90);
  EXPECT_EQ(status.slot().held_by().application(), "nightly export");
  EXPECT_EQ(status.slot().held_by().age_seconds(), 7500);
  EXPECT_EQ(status.problems(0).code(), "WR-2108");
  EXPECT_EQ(status.past_problems(0).times(), 312u);
  EXPECT_EQ(status.now().seconds() - status.relay().oldest_unacknowledged().seconds(), 52 * 60);
}

TEST(StatusJsonTest, OperatorsLimitIsSeparateFromTheServersLimit) {
  StatusReport report = Samples().at("streaming");
  EXPECT_FALSE(Parsed(report).slot().has_budget_bytes());
  report.snapshot.slot->budget = WalRetentionLimit{.bytes = 5'000, .drop_slot = true};
  const Status status = Parsed(report);
  EXPECT_EQ(status.slot().budget_bytes(), 5'000u);
  EXPECT_TRUE(status.slot().budget_drops_slot());
  EXPECT_EQ(status.slot().max_retained_bytes(), 8 * testing::kGiB);
}

TEST(StatusJsonTest, ChecksHaveTimestamps) {
  StatusReport report = Samples().at("streaming");
  EXPECT_EQ(Parsed(report).now().seconds() - Parsed(report).publication_checked().seconds(), 2);
  EXPECT_TRUE(Parsed(report).has_slot_checked());
  EXPECT_FALSE(Parsed(report).has_check_failure());
  EXPECT_FALSE(Parsed(report).relay().has_cut_off_since());
  report.snapshot.sampler = SamplerStatus();
  report.snapshot.sampler.failure = Error(ErrorCode::kPostgresUnreachable, "x");
  report.snapshot.relay.figures.cut_off_since = report.now - minutes(1);
  const Status status = Parsed(report);
  EXPECT_FALSE(status.has_publication_checked());
  EXPECT_EQ(status.check_failure().code(), "WR-2001");
  EXPECT_EQ(status.now().seconds() - status.relay().cut_off_since().seconds(), 60);
}

TEST(StatusJsonTest, ProgressIsReported) {
  StatusReport report = Samples().at("streaming");
  EXPECT_FALSE(Parsed(report).has_progress());
  report.snapshot.relay.progress = ProgressStatus{.topic = "walrelay.progress.orders",
                                                  .frontier = Lsn(0x16'b374'd5f0),
                                                  .written = report.now - seconds(3),
                                                  .ahead_bytes = 0};
  const Status::Progress progress = Parsed(report).progress();
  EXPECT_TRUE(progress.enabled());
  EXPECT_EQ(progress.topic(), "walrelay.progress.orders");
  EXPECT_EQ(progress.recorded_lsn(), "16/B374D5F0");
  EXPECT_EQ(Parsed(report).now().seconds() - progress.written().seconds(), 3);
  EXPECT_TRUE(progress.has_ahead_bytes());
  EXPECT_EQ(progress.ahead_bytes(), 0u);
}

TEST(StatusJsonTest, ProgressWithoutARecordHasNoPosition) {
  StatusReport report = Samples().at("streaming");
  report.snapshot.relay.progress = ProgressStatus{.enabled = false, .topic = "p"};
  const Status::Progress progress = Parsed(report).progress();
  EXPECT_FALSE(progress.enabled());
  EXPECT_EQ(progress.recorded_lsn(), "");
  EXPECT_FALSE(progress.has_written());
  EXPECT_FALSE(progress.has_ahead_bytes());
}

TEST(StatusJsonTest, TransactionsAreReported) {
  StatusReport report = Samples().at("streaming");
  EXPECT_FALSE(Parsed(report).has_transactions());
  report.snapshot.relay.transactions = TransactionStatus{};
  EXPECT_EQ(Parsed(report).transactions().state(), Status::Transactions::claiming);
  EXPECT_FALSE(Parsed(report).transactions().has_since());
  EXPECT_EQ(Parsed(report).transactions().failure(), "");
  report.snapshot.relay.transactions =
      TransactionStatus{.state = TransactionState::kOpen,
                        .since = report.now - seconds(2),
                        .committed = 7,
                        .failure = Error(ErrorCode::kProducerFenced, "by another"),
                        .failed = report.now - seconds(60)};
  const Status::Transactions transactions = Parsed(report).transactions();
  EXPECT_EQ(transactions.state(), Status::Transactions::open);
  EXPECT_EQ(Parsed(report).now().seconds() - transactions.since().seconds(), 2);
  EXPECT_EQ(transactions.committed(), 7u);
  EXPECT_EQ(transactions.failure(), "WR-4021");
  EXPECT_EQ(Parsed(report).now().seconds() - transactions.failed().seconds(), 60);
}

TEST(StatusJsonTest, UnknownValuesAreAbsent) {
  StatusReport report = Samples().at("streaming");
  report.snapshot.slot->row.safe_wal_size.reset();
  report.snapshot.slot->max_retained_bytes = -1;
  const Status status = Parsed(report);
  EXPECT_FALSE(status.slot().has_max_retained_bytes());
  EXPECT_FALSE(status.slot().has_safe_bytes());
  EXPECT_FALSE(status.slot().has_seconds_to_loss());
  EXPECT_FALSE(status.relay().has_oldest_unacknowledged());
  EXPECT_FALSE(Parsed(Samples().at("starting")).has_slot());
}

}  // namespace
}  // namespace walrelay
