#include "postgres/slot_sampler.h"

#include <fmt/format.h>
#include <poll.h>

#include <utility>

#include "base/log.h"
#include "postgres/catalog_queries.h"
#include "postgres/outbox_tables.h"
#include "postgres/pg_error.h"
#include "postgres/publication_state.h"
#include "postgres/session.h"
#include "postgres/slot_query.h"
#include "stream/start_position.h"
#include "walrelay/config/metrics.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Longer than any of these queries takes on a healthy server.
constexpr std::chrono::seconds kQueryTimeout{10};

// An overloaded server cancels the queries, also after the sampler has stopped waiting for them.
constexpr std::string_view kLimits = "SET statement_timeout = '10s'; SET lock_timeout = '1s'";

// admin_shutdown and crash_shutdown: the server terminates this session. An operator's
// pg_terminate_backend() has the same code.
bool IsShutdown(const PGresult* notice) {
  const char* state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
  return state != nullptr &&
         (std::string_view(state) == "57P01" || std::string_view(state) == "57P02");
}

// Adds the difference of two samples of a server's counter.
void CountUp(prometheus::Counter& counter, uint64_t before, uint64_t now) {
  // Lower: the server's statistics were reset.
  counter.Increment(static_cast<double>(now >= before ? now - before : now));
}

void SetOrClear(PlainMetric<prometheus::Gauge>& gauge, std::optional<double> value) {
  if (value) {
    gauge->Set(*value);
  } else {
    gauge.Clear();
  }
}

}  // namespace

SlotSampler::SlotSampler(const SourceConfig& source, const MetricsConfig& intervals,
                         const Clock& clock, Metrics& metrics, Callbacks callbacks, Micros delay)
    : source_(source),
      intervals_(intervals),
      clock_(clock),
      metrics_(metrics),
      callbacks_(std::move(callbacks)),
      tables_(source, intervals, clock, metrics, callbacks_.tables) {
  worker_.Start([this, delay] { Run(delay); });
}

SlotSampler::~SlotSampler() = default;

// A failure is retried at the next interval, as a sample is.
void SlotSampler::Run(Micros delay) {
  *metrics_.slot_sample_errors;  // exists from now on: an alert would not see the step to 1
  for (Micros rest = delay; Rest(rest); rest = intervals_.slot_poll_interval) {
    const absl::Status status = Sample();
    if (absl::IsCancelled(status)) {
      return;
    }
    if (!status.ok()) {
      OnSampleFailed(status);
    }
  }
}

// In the order of importance: a step that fails only prevents the steps after it.
absl::Status SlotSampler::Sample() {
  WR_RETURN_IF_ERROR(EnsureConnected());
  WR_RETURN_IF_ERROR(SampleSlot());
  WR_RETURN_IF_ERROR(IdentifyPublication());
  WR_ASSIGN_OR_RETURN(const std::vector<TableInfo> tables, CheckPublication());
  // Rows committed before the last sample are compared with the progress by now: the first sample
  // of a connection has nothing to compare.
  return ++samples_ > 1 ? tables_.Turn(*connection_, tables, earlier_xids_, kQueryTimeout)
                        : absl::OkStatus();
}

absl::Status SlotSampler::EnsureConnected() {
  if (connection_) {
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(OpenedSession session,
                      OpenSession(source_, {.interrupt_fd = worker_.stop_fd()}));
  connection_ = std::move(session.connection);
  WR_RETURN_IF_ERROR(connection_->Query(std::string(kLimits), kQueryTimeout).status());
  WR_ASSIGN_OR_RETURN(system_id_, ReadSystemId(*connection_, kQueryTimeout));
  terminated_ = false;
  samples_ = 0;
  xids_.reset();
  connection_->OnNotice(
      [this](const PGresult* notice) { terminated_ = terminated_ || IsShutdown(notice); });
  return absl::OkStatus();
}

absl::Status SlotSampler::SampleSlot() {
  const MonoTime begun = clock_.Now();
  WR_ASSIGN_OR_RETURN(SlotSample sample, ReadSlotSample(*connection_, source_, kQueryTimeout));
  Classify(sample);
  wal_end_ = sample.exists ? sample.wal_end : Lsn();
  if (sample.exists) {
    SetSlotGauges(sample);
  } else {
    ClearSlotGauges();
  }
  earlier_xids_ = xids_ ? std::optional(xids_->first) : std::nullopt;
  xids_.reset();
  if (sample.xids) {
    sample.xids->system_id = system_id_;
    xids_.emplace(*sample.xids, begun);
  }
  callbacks_.slot_sampled(sample);
  return absl::OkStatus();
}

void SlotSampler::Classify(SlotSample& sample) {
  watch_.Add(clock_.Now(), sample, callbacks_.stream ? callbacks_.stream() : OwnStream());
  // One line per change, and not per sample.
  if (sample.risk == logged_risk_) {
    return;
  }
  if (const absl::Status risk = RiskStatus(sample); !risk.ok()) {
    LogStatus(sample.risk >= SlotRisk::kCritical ? LogLevel::kError : LogLevel::kWarning,
              "slot_risk", risk, {{"risk", NameOf(sample.risk)}});
  } else {
    LogInfo("slot_risk", "slot risk changed",
            {{"risk", NameOf(sample.risk)}, {"retained_bytes", sample.retained_bytes()}});
  }
  logged_risk_ = sample.risk;
}

// A value that is not known removes its series: 0 would look like a measurement.
void SlotSampler::SetSlotGauges(const SlotSample& sample) {
  const auto seconds = [](Micros time) { return std::chrono::duration<double>(time).count(); };
  metrics_.slot_lag_bytes->Set(static_cast<double>(sample.lag_bytes()));
  SetOrClear(metrics_.slot_lag_seconds,
             sample.lag_age ? std::optional(seconds(*sample.lag_age)) : std::nullopt);
  metrics_.slot_retained_wal_bytes->Set(static_cast<double>(sample.retained_bytes()));
  metrics_.slot_max_retained_wal_bytes->Set(static_cast<double>(sample.max_retained_bytes));
  SetOrClear(metrics_.slot_safe_wal_bytes,
             sample.row.safe_wal_size
                 ? std::optional(static_cast<double>(*sample.row.safe_wal_size))
                 : std::nullopt);
  SetOrClear(
      metrics_.slot_retained_wal_budget_bytes,
      sample.budget ? std::optional(static_cast<double>(sample.budget->bytes)) : std::nullopt);
  SetOrClear(metrics_.slot_seconds_to_loss,
             sample.time_to_loss ? std::optional(seconds(*sample.time_to_loss)) : std::nullopt);
  SetOrClear(metrics_.catch_up_seconds, sample.time_until_caught_up
                                            ? std::optional(seconds(*sample.time_until_caught_up))
                                            : std::nullopt);
  SetOrClear(metrics_.source_wal_rate, sample.wal_bytes_per_second);
  if (!sample.row.wal_status.empty()) {
    metrics_.slot_wal_status.SetOnly(sample.row.wal_status);
  }
  metrics_.slot_risk.SetOnly(NameOf(sample.risk));
  SetSilenceGauge(sample.silence);
  metrics_.slot_active->Set(sample.row.active ? 1 : 0);
  metrics_.slot_confirmed_lsn->Set(static_cast<double>(sample.row.confirmed_flush_lsn.value()));
  metrics_.slot_restart_lsn->Set(static_cast<double>(sample.row.restart_lsn.value()));
  metrics_.source_wal_lsn->Set(static_cast<double>(sample.wal_end.value()));
  metrics_.slot_sampled_timestamp->Set(seconds(clock_.WallNow().time_since_epoch()));
  if (sample.spill) {
    CountSpill(*sample.spill);
  }
}

// The series of a cause exists only while it lasts.
void SlotSampler::SetSilenceGauge(const std::optional<StreamSilence>& silence) {
  for (const SilenceCause cause :
       {SilenceCause::kDecoding, SilenceCause::kStandby, SilenceCause::kUnexplained}) {
    if (silence && silence->cause == cause) {
      metrics_.replication_silent_seconds[NameOf(cause)].Set(
          std::chrono::duration<double>(silence->lasted).count());
    } else {
      metrics_.replication_silent_seconds.Remove(NameOf(cause));
    }
  }
}

void SlotSampler::CountSpill(const SpillCounters& now) {
  // The first sample counts as 0: what happened before this process is not its own.
  const SpillCounters before = spill_.value_or(now);
  CountUp(*metrics_.slot_spilled_transactions, before.spilled_transactions,
          now.spilled_transactions);
  CountUp(*metrics_.slot_spilled_bytes, before.spilled_bytes, now.spilled_bytes);
  CountUp(*metrics_.slot_decoded_bytes, before.decoded_bytes, now.decoded_bytes);
  spill_ = now;
}

// Without a slot the lag is absent, not zero.
void SlotSampler::ClearSlotGauges() {
  SetSilenceGauge(std::nullopt);
  for (auto* gauge :
       {&metrics_.slot_lag_bytes, &metrics_.slot_lag_seconds, &metrics_.slot_retained_wal_bytes,
        &metrics_.slot_safe_wal_bytes, &metrics_.slot_seconds_to_loss, &metrics_.catch_up_seconds,
        &metrics_.slot_active, &metrics_.slot_confirmed_lsn, &metrics_.slot_restart_lsn}) {
    gauge->Clear();
  }
}

// On the same connection as the slot's sample, with the checks that the relay applies at each
// start.
absl::StatusOr<std::vector<TableInfo>> SlotSampler::CheckPublication() {
  SourceInfo info;
  WR_ASSIGN_OR_RETURN(info.publication,
                      ReadPublicationInfo(*connection_, source_.publication, kQueryTimeout));
  WR_ASSIGN_OR_RETURN(
      info.tables, ReadTableInfo(*connection_, source_.publication, source_.tables, kQueryTimeout));
  const auto problems = PublicationProblems(info, source_.publication);
  callbacks_.publication_checked(problems.empty() ? absl::OkStatus() : problems.front());
  return std::move(info.tables);
}

// Without a slot there is nothing to compare.
absl::Status SlotSampler::IdentifyPublication() {
  if (!wal_end_.valid() || !callbacks_.publication_seen) {
    return absl::OkStatus();
  }
  // Before the first query: what is reported is at least as new as this time.
  const MonoTime begun = clock_.Now();
  WR_ASSIGN_OR_RETURN(
      const PgResult recovery,
      connection_->Query("SELECT pg_catalog.pg_is_in_recovery() AS in_recovery", kQueryTimeout));
  if (recovery.Bool(0, "in_recovery")) {
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(const PublicationState look,
                      ReadPublicationState(*connection_, source_, wal_end_, kQueryTimeout));
  callbacks_.publication_seen(look, begun);
  if (xids_ && callbacks_.xids_read) {
    xids_->first.publication = look.identity;
    callbacks_.xids_read(xids_->first, xids_->second);
  }
  return absl::OkStatus();
}

void SlotSampler::OnSampleFailed(const absl::Status& error) {
  metrics_.slot_sample_errors->Increment();
  LogDebug("slot_sample_failed", MessageOf(error));
  if (callbacks_.sample_failed) {
    callbacks_.sample_failed(error);
  }
  connection_.reset();
  if (HasCode(error, ErrorCode::kPostgresShuttingDown)) {
    callbacks_.server_shutting_down();
  }
}

// Sleeps in poll(), which also notices that the server closes the connection: that is the first
// sign of a shutdown.
bool SlotSampler::Rest(Micros duration) {
  const MonoTime until = clock_.Now() + duration;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock_.Now());
    if (left.count() <= 0) {
      return true;
    }
    pollfd polled[] = {{worker_.stop_fd(), POLLIN, 0},
                       {connection_ ? connection_->socket() : -1, POLLIN, 0}};
    (void)::poll(polled, 2, static_cast<int>(left.count()));
    if (polled[0].revents != 0) {
      return false;
    }
    if (polled[1].revents != 0 && ConnectionEnded()) {
      // Samples at once: the server's answer to a new connection shows whether it is shutting down.
      return true;
    }
  }
}

// Data on an idle connection is a notice, an error or its end.
bool SlotSampler::ConnectionEnded() {
  const bool alive = PQconsumeInput(connection_->get()) != 0 && PQisBusy(connection_->get()) == 0 &&
                     PQstatus(connection_->get()) == CONNECTION_OK;
  if (alive && !terminated_) {
    return false;
  }
  connection_.reset();
  return true;
}

}  // namespace walrelay
