#include "postgres/slot_sampler.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "base/log.h"
#include "postgres/facts.h"
#include "postgres/pg_error.h"
#include "postgres/quote.h"
#include "txn/start_position.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kQueryTimeout{10};

// wal_keep is in bytes, -1 for no limit. Columns that a version does not have read as NULL.
constexpr std::string_view kSlotQuery = R"(
SELECT s.*, w.lsn AS wal_lsn,
       (SELECT CASE WHEN setting::bigint < 0 THEN -1 ELSE setting::bigint * 1024 * 1024 END
        FROM pg_settings WHERE name = 'max_slot_wal_keep_size') AS wal_keep
FROM pg_replication_slots s,
     (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS lsn) w
WHERE s.slot_name = {})";

bool IsShutdown(const PGresult* notice) {
  const char* state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
  return state != nullptr &&
         (std::string_view(state) == "57P01" || std::string_view(state) == "57P02");
}

Lsn LsnOf(const PgResult& row, const char* column) {
  return Lsn::Parse(row.Text(0, column)).value_or(Lsn());
}

}  // namespace

SlotSampler::SlotSampler(const Config& config, const Clock& clock, Metrics& metrics,
                         Callbacks callbacks)
    : config_(config),
      clock_(clock),
      metrics_(metrics),
      callbacks_(std::move(callbacks)),
      stop_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      thread_([this] { Run(); }) {}

SlotSampler::~SlotSampler() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void SlotSampler::Run() {
  do {
    const absl::Status status = Look();
    if (absl::IsCancelled(status)) {
      return;
    }
    if (!status.ok()) {
      OnLookFailed(status);
    }
  } while (Rest(config_.metrics.slot_interval));
}

absl::Status SlotSampler::Look() {
  WR_RETURN_IF_ERROR(EnsureConnected());
  WR_RETURN_IF_ERROR(SampleSlot());
  return CheckPublication();
}

absl::Status SlotSampler::EnsureConnected() {
  if (connection_) {
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(const ConnectionParameters parameters,
                      MakeConnectionParameters(config_.source, ConnectionPurpose::kSql));
  WR_ASSIGN_OR_RETURN(
      connection_, PgConnection::Connect(parameters, config_.source.connect_timeout, stop_.get()));
  terminated_ = false;
  connection_->OnNotice(
      [this](const PGresult* notice) { terminated_ = terminated_ || IsShutdown(notice); });
  return absl::OkStatus();
}

absl::Status SlotSampler::SampleSlot() {
  WR_ASSIGN_OR_RETURN(const PgResult row,
                      connection_->Query(fmt::format(kSlotQuery, QuoteLiteral(config_.source.slot)),
                                         kQueryTimeout));
  if (row.rows() == 0) {
    ClearSlotGauges();
    return absl::OkStatus();
  }
  SetSlotGauges(row);
  return absl::OkStatus();
}

void SlotSampler::SetSlotGauges(const PgResult& row) {
  const Lsn wal = LsnOf(row, "wal_lsn");
  const Lsn confirmed = LsnOf(row, "confirmed_flush_lsn");
  const Lsn restart = LsnOf(row, "restart_lsn");
  const MonoTime now = clock_.Now();
  lag_clock_.Look(now, wal);
  metrics_.slot_lag_bytes->Set(static_cast<double>(BytesBetween(confirmed, wal)));
  metrics_.slot_lag_seconds->Set(
      std::chrono::duration<double>(lag_clock_.Age(now, confirmed)).count());
  metrics_.slot_retained_wal_bytes->Set(static_cast<double>(BytesBetween(restart, wal)));
  metrics_.slot_max_retained_wal_bytes->Set(static_cast<double>(row.Int(0, "wal_keep")));
  if (row.Get(0, "safe_wal_size")) {
    metrics_.slot_safe_wal_bytes->Set(static_cast<double>(row.Int(0, "safe_wal_size")));
  } else {
    metrics_.slot_safe_wal_bytes.Clear();
  }
  if (row.Get(0, "wal_status")) {
    metrics_.slot_wal_status.SetOnly(row.Text(0, "wal_status"));
  }
  metrics_.slot_active->Set(row.Bool(0, "active") ? 1 : 0);
  metrics_.slot_confirmed_lsn->Set(static_cast<double>(confirmed.value()));
  metrics_.source_wal_lsn->Set(static_cast<double>(wal.value()));
}

// No slot: no lag, rather than one of zero.
void SlotSampler::ClearSlotGauges() {
  metrics_.slot_lag_bytes.Clear();
  metrics_.slot_lag_seconds.Clear();
  metrics_.slot_retained_wal_bytes.Clear();
  metrics_.slot_safe_wal_bytes.Clear();
  metrics_.slot_active.Clear();
  metrics_.slot_confirmed_lsn.Clear();
}

absl::Status SlotSampler::CheckPublication() {
  SourceFacts facts;
  WR_ASSIGN_OR_RETURN(
      facts.publication,
      ReadPublicationFacts(*connection_, config_.source.publication, kQueryTimeout));
  WR_ASSIGN_OR_RETURN(facts.tables, ReadTableFacts(*connection_, config_.source.publication,
                                                   config_.source.tables, kQueryTimeout));
  const auto problems = PublicationProblems(facts, config_.source.publication);
  callbacks_.publication_checked(problems.empty() ? absl::OkStatus() : problems.front());
  return absl::OkStatus();
}

void SlotSampler::OnLookFailed(const absl::Status& error) {
  metrics_.slot_sample_errors->Increment();
  LogDebug("slot_sample_failed", MessageOf(error));
  connection_.reset();
  if (HasCode(error, ErrorCode::kPostgresShuttingDown)) {
    callbacks_.server_shutting_down();
  }
}

bool SlotSampler::Rest(Micros duration) {
  const MonoTime until = clock_.Now() + duration;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock_.Now());
    if (left.count() <= 0) {
      return true;
    }
    pollfd wanted[] = {{stop_.get(), POLLIN, 0},
                       {connection_ ? connection_->socket() : -1, POLLIN, 0}};
    (void)::poll(wanted, 2, static_cast<int>(left.count()));
    if (wanted[0].revents != 0) {
      return false;
    }
    if (wanted[1].revents != 0 && ConnectionEnded()) {
      // A look at once: what the server says to a new connection tells a shutdown from anything
      // else.
      return true;
    }
  }
}

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
