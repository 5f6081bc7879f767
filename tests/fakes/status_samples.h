// Realistic sample reports for each state: used by the tests of the three output formats, and by
// the browser tests.
#pragma once

#include <cmath>
#include <map>
#include <string>

#include "fakes/sizes.h"
#include "status/status_report.h"
#include "walrelay/error.h"

namespace walrelay::testing {

class StatusSample {
 public:
  explicit StatusSample(RelayState state) {
    using std::chrono::minutes;
    using std::chrono::seconds;
    report_.identity = {"0.1.0", {"db1.example/shop", "walrelay"}, "walrelay"};
    report_.now = std::chrono::sys_days(std::chrono::year(2026) / 11 / 20) + std::chrono::hours(8) +
                  minutes(14) + seconds(2);
    RelayStatus& relay = report_.snapshot.relay;
    relay.state = state;
    relay.since = Ago(std::chrono::hours(3) + minutes(12));
    relay.figures = {.acknowledged = 4'182'907,
                     .records_in_flight = 3,
                     .bytes_in_flight = 1'412,
                     .transactions_in_flight = 2,
                     .oldest_commit = std::nullopt,
                     .last_acknowledged = Ago(std::chrono::milliseconds(400)),
                     .received = Lsn(0x16'b374'd848),
                     .frontier = Lsn(0x16'b374'd5f0)};
    report_.snapshot.slot = SlotSample{.taken = Ago(seconds(2)),
                                       .exists = true,
                                       .row = {.active = true,
                                               .active_pid = 4711,
                                               .restart_lsn = Lsn(0x16'b374'd848 - 18 * kMiB),
                                               .confirmed_flush_lsn = Lsn(0x16'b374'd5f0),
                                               .wal_status = "reserved",
                                               .safe_wal_size = 8 * kGiB - 18 * kMiB},
                                       .wal_end = Lsn(0x16'b374'd848),
                                       .max_retained_bytes = 8 * kGiB,
                                       .spill = SpillCounters{.decoded_bytes = 91 * kGiB},
                                       .lag_age = std::chrono::milliseconds(3),
                                       .wal_bytes_per_second = 1.4 * kMiB};
    report_.snapshot.tables = {{.schema = "public",
                                .name = "outbox",
                                .sql_name = R"("public"."outbox")",
                                .taken = Ago(seconds(14)),
                                .size = {.heap_bytes = 31 * kMiB,
                                         .total_bytes = 44 * kMiB,
                                         .dead_rows = 1'204,
                                         .vacuumed = Ago(minutes(38)),
                                         .row_bytes = 320},
                                .rows = RowCount{.rows = 84'310},
                                .unpublished = RowCount(),
                                .as_of = Ago(seconds(19)),
                                .unproven = RowCount()}};
    report_.snapshot.sampler.slot = report_.snapshot.sampler.publication = Ago(seconds(2));
    for (int i = 359; i >= 0; --i) {
      const double hill = 240 + 80 * std::sin(i / 31.0) + 25 * std::sin(i * 1.7);
      report_.snapshot.history.push_back(
          {.at = Ago(seconds(10 * i)),
           .span = seconds(10),
           .events = static_cast<uint64_t>(hill * 10),
           .median = Micros(820 + i % 7 * 11),
           .slowest = Micros(3'900 + static_cast<int>(600 * std::sin(i / 9.0)) + i % 5 * 90),
           .stages = StageMedians{Micros(310), Micros(95), Micros(380 + i % 7 * 9)},
           .lag_bytes = static_cast<uint64_t>(40'000 + 30'000 * std::sin(i / 5.0))});
    }
  }

  WallTime Ago(Micros time) const { return report_.now - time; }
  StatusReport& report() { return report_; }
  RelayStatus& relay() { return report_.snapshot.relay; }
  SlotSample& slot() { return *report_.snapshot.slot; }
  TableReading& table() { return report_.snapshot.tables.front(); }

  // The slot lags by `bytes`, and retains all WAL from there.
  StatusSample& Behind(uint64_t bytes, Micros age) {
    slot().row.confirmed_flush_lsn = slot().row.restart_lsn = Lsn(slot().wal_end.value() - bytes);
    slot().row.safe_wal_size = static_cast<int64_t>(8 * kGiB - bytes);
    slot().lag_age = age;
    relay().figures.oldest_commit = Ago(age);
    return *this;
  }
  // Nothing was acknowledged in the last `time`; the lag has grown to its current value.
  StatusSample& SilentSince(Micros time) {
    const auto lag = static_cast<double>(slot().lag_bytes());
    for (HistoryPoint& point : report_.snapshot.history) {
      const Micros into = point.at - Ago(time);
      if (into.count() > 0) {
        point = {.at = point.at,
                 .span = point.span,
                 .lag_bytes = static_cast<uint64_t>(lag * static_cast<double>(into.count()) /
                                                    static_cast<double>(time.count()))};
      }
    }
    relay().since = Ago(time);
    relay().figures.last_acknowledged = Ago(time);
    return *this;
  }
  StatusSample& Past(const absl::Status& error, Micros ago, uint64_t times = 1) {
    report_.snapshot.errors.push_back(
        {.error = error, .first = Ago(ago * 2), .last = Ago(ago), .times = times});
    return *this;
  }

 private:
  StatusReport report_;
};

// Sample reports by name.
inline std::map<std::string, StatusReport> StatusSamples() {
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  std::map<std::string, StatusReport> samples;

  StatusSample streaming(RelayState::kStreaming);
  streaming.Past(Error(ErrorCode::kConnectionLost, "server closed the connection unexpectedly"),
                 hours(3) + minutes(12));
  samples["streaming"] = streaming.report();

  StatusSample catching_up(RelayState::kCatchingUp);
  catching_up.Behind(3 * kGiB, minutes(41));
  // Kafka was unavailable for most of the hour; the relay is working off the backlog.
  auto& history = catching_up.report().snapshot.history;
  for (size_t i = 100; i < history.size(); ++i) {
    const bool away = i < history.size() - 12;
    const size_t since_back = away ? 0 : i - (history.size() - 12);
    history[i].events = away ? 0 : 1'087'000;
    history[i].median = away ? std::nullopt : std::optional<Micros>(minutes(40));
    history[i].slowest = away ? std::nullopt : std::optional<Micros>(minutes(43));
    history[i].stages =
        away ? std::nullopt
             : std::optional(StageMedians{minutes(40), Micros(700), std::chrono::milliseconds(9)});
    history[i].lag_bytes = (i - 100) * 30 * kMiB - since_back * 380 * kMiB;
  }
  catching_up.relay().since = catching_up.Ago(minutes(2));
  catching_up.relay().figures.records_in_flight = 9'912;
  catching_up.relay().figures.bytes_in_flight = 3 * kMiB;
  catching_up.relay().figures.transactions_in_flight = 9'847;
  catching_up.relay().waits_for = "Kafka to acknowledge records: the in-flight window is full";
  catching_up.slot().time_until_caught_up = seconds(77);
  catching_up.Past(Error(ErrorCode::kKafkaStalled, "3 records in flight"), minutes(3), 4);
  samples["catching_up"] = catching_up.report();

  StatusSample blocked(RelayState::kBlocked);
  blocked.Behind(212 * kMiB, minutes(19)).SilentSince(minutes(19));
  blocked.relay().error = Error(ErrorCode::kKeyMissing, "public.outbox: aggregate_id is NULL");
  blocked.relay().detail =
      "table=public.outbox id=7f3c1e9a-5b1d-4c7e-9a55-0d6b8f6a2c11 lsn=16/A4010C28 xid=918273";
  blocked.relay().waits_for = "the cause of the error to be fixed; walrelay retries automatically";
  blocked.table().unpublished = {.rows = 9'120, .bound = RowBound::kAtMost};
  blocked.table().oldest_unpublished = minutes(19);
  blocked.table().unproven = {.rows = 12};
  blocked.Past(blocked.relay().error, minutes(19));
  samples["blocked"] = blocked.report();

  StatusSample degraded(RelayState::kDegraded);
  degraded.Behind(640 * kMiB, minutes(7)).SilentSince(minutes(7));
  degraded.relay().error = Error(ErrorCode::kKafkaUnreachable,
                                 "kafka-1:9092: Connect to ipv4#10.0.4.17:9092 failed: "
                                 "Connection refused");
  degraded.relay().figures.records_in_flight = 10'000;
  degraded.relay().figures.bytes_in_flight = 4 * kMiB;
  degraded.relay().figures.transactions_in_flight = 9'961;
  degraded.relay().waits_for = "Kafka to acknowledge records: the in-flight window is full";
  degraded.Past(degraded.relay().error, seconds(3), 21);
  samples["degraded"] = degraded.report();

  StatusSample standby(RelayState::kStandby);
  standby.relay().waits_for = "the slot, which another process holds";
  standby.relay().figures = {};
  standby.report().snapshot.tables.clear();
  for (HistoryPoint& point : standby.report().snapshot.history) {
    point.events = 0;
    point.median = point.slowest = std::nullopt;
    point.stages = std::nullopt;
  }
  samples["standby"] = standby.report();

  StatusSample almost_lost(RelayState::kDegraded);
  almost_lost.Behind(7 * kGiB + 800 * kMiB, minutes(52)).SilentSince(minutes(52));
  almost_lost.relay().error = Error(ErrorCode::kKafkaStalled, "10000 records in flight");
  almost_lost.relay().figures.records_in_flight = 10'000;
  almost_lost.relay().figures.bytes_in_flight = 4 * kMiB;
  almost_lost.relay().figures.transactions_in_flight = 9'961;
  almost_lost.relay().waits_for = "Kafka to acknowledge records: the in-flight window is full";
  almost_lost.slot().row.wal_status = "extended";
  almost_lost.slot().wal_bytes_per_second = 2.5 * kMiB;
  almost_lost.slot().time_to_loss = seconds(90);
  almost_lost.slot().risk = SlotRisk::kCritical;
  almost_lost.slot().held_by = OldestTransaction{.pid = 5120,
                                                 .prepared_as = "",
                                                 .user = "reports",
                                                 .application = "nightly export",
                                                 .database = "shop",
                                                 .age = hours(2) + minutes(5)};
  almost_lost.slot().row.confirmed_flush_lsn =
      Lsn(almost_lost.slot().row.restart_lsn.value() + 2 * kGiB);
  almost_lost.table().size = {.heap_bytes = 3 * kGiB,
                              .total_bytes = 4 * kGiB,
                              .dead_rows = 6'100'400,
                              .vacuumed = almost_lost.Ago(hours(9)),
                              .row_bytes = 320};
  almost_lost.table().rows = {.rows = 612'000, .bound = RowBound::kEstimate};
  almost_lost.table().unpublished = {.rows = 190'400, .bound = RowBound::kAtLeast};
  almost_lost.table().unproven.reset();
  almost_lost.Past(almost_lost.relay().error, seconds(8), 312);
  samples["slot_almost_lost"] = almost_lost.report();

  // Injection attempts by a client that can write a row or set an application name.
  StatusSample hostile(RelayState::kBlocked);
  const std::string attack =
      "</p><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&\x1b[2J\n\xff";
  hostile.relay().error = Error(ErrorCode::kTopicInvalid, attack);
  hostile.relay().detail = attack;
  hostile.relay().waits_for = attack;
  hostile.table().schema = hostile.table().name = attack;
  hostile.slot().held_by = OldestTransaction{.pid = 1,
                                             .prepared_as = attack,
                                             .user = attack,
                                             .application = attack,
                                             .database = attack,
                                             .age = std::nullopt};
  hostile.relay().progress = ProgressStatus{.topic = attack, .frontier = Lsn(1)};
  hostile.slot().row.wal_status = attack;
  hostile.slot().row.invalidation_reason = attack;
  hostile.Past(Error(ErrorCode::kPostgresError, attack), seconds(5));
  hostile.report().identity.pipeline = {attack, attack};
  samples["hostile"] = hostile.report();

  StatusSample fresh(RelayState::kStarting);
  fresh.report().snapshot = StatusSnapshot();
  fresh.relay().since = fresh.Ago(seconds(1));
  samples["starting"] = fresh.report();

  StatusSample alone(RelayState::kStarting);
  alone.report().relay_answered = false;
  alone.report().snapshot.history.clear();
  alone.slot().row.active = false;
  alone.slot().row.inactive_since = alone.Ago(minutes(12));
  samples["no_relay"] = alone.report();
  return samples;
}

// The same, built once.
inline const std::map<std::string, StatusReport>& Samples() {
  static const auto samples = StatusSamples();
  return samples;
}

}  // namespace walrelay::testing
