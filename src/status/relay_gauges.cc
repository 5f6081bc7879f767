#include "status/relay_gauges.h"

#include <algorithm>

#include "status/cut_off.h"

namespace walrelay {
namespace {

using Phase = RelayView::Phase;

// Not negative: clocks may differ.
double SecondsOf(std::chrono::duration<double> time) {
  return std::max(0.0, time.count());
}

// The age of what is known to wait, or of what may wait and was not read.
double OldestAge(const RelayView& view) {
  // Also in a process that has never streamed: a restart during an outage must not silence the
  // alerts.
  const auto silent = SilentSince(view);
  const double cut_off = view.phase == Phase::kDisconnected ? SecondsOf(TimeCutOff(view))
                         : silent                           ? SecondsOf(view.wall - *silent)
                                                            : 0;
  return std::max(view.oldest_commit ? SecondsOf(view.wall - *view.oldest_commit) : 0, cut_off);
}

}  // namespace

RelayGauges::RelayGauges(Metrics& metrics) : metrics_(metrics) {
  metrics.state.SetOnly(NameOf(RelayState::kStarting));
  for (auto* gauge : {&metrics.ready, &metrics.leader, &metrics.gap_held,
                      &metrics.replication_connected, &metrics.oldest_unpublished_age_seconds}) {
    (*gauge)->Set(0);
  }
}

void RelayGauges::Update(const RelayView& view, RelayState state) {
  const bool streams = view.phase == Phase::kStreaming;
  metrics_.state.SetOnly(NameOf(state));
  metrics_.replication_connected->Set(streams ? 1 : 0);
  metrics_.leader->Set(streams ? 1 : 0);
  metrics_.gap_held->Set(view.held ? 1 : 0);
  // A disconnected standby has no knowledge of what its leader publishes.
  if (view.stood_by || (view.finished && !view.has_streamed)) {
    ClearLeader();
    metrics_.oldest_unpublished_age_seconds.Clear();
    return;
  }
  metrics_.oldest_unpublished_age_seconds->Set(OldestAge(view));
  if (view.has_streamed) {
    UpdateLeader(view);
  } else {
    ClearLeader();
  }
}

void RelayGauges::UpdateLeader(const RelayView& view) {
  metrics_.inflight_records->Set(static_cast<double>(view.records_in_flight));
  metrics_.inflight_bytes->Set(static_cast<double>(view.bytes_in_flight));
  metrics_.inflight_transactions->Set(static_cast<double>(view.transactions_in_flight));
  metrics_.inflight_records_limit->Set(static_cast<double>(view.max_in_flight_records));
  metrics_.inflight_bytes_limit->Set(static_cast<double>(view.max_in_flight_bytes));
  metrics_.replication_received_lsn->Set(static_cast<double>(view.received.value()));
  metrics_.replication_flushed_lsn->Set(static_cast<double>(view.frontier.value()));
  UpdateRecord(view.record);
  if (view.transactions) {
    const auto& opened = view.transactions->opened;
    const std::chrono::duration<double> age = opened ? view.now - *opened : Micros(0);
    metrics_.kafka_transaction_age->Set(age.count());
  }
  if (view.last_acknowledged) {
    metrics_.last_published_timestamp->Set(SecondsOf(view.last_acknowledged->time_since_epoch()));
  }
}

// 0 and not absent without a record: otherwise the alert would not fire when the first one fails.
void RelayGauges::UpdateRecord(const std::optional<RelayView::Record>& record) {
  if (!record || !record->enabled) {
    metrics_.progress_recorded_lsn.Clear();
    metrics_.progress_recorded_timestamp.Clear();
    return;
  }
  metrics_.progress_recorded_lsn->Set(
      record->frontier ? static_cast<double>(record->frontier->value()) : 0);
  if (record->frontier) {
    metrics_.progress_recorded_timestamp->Set(SecondsOf(record->written.time_since_epoch()));
  }
}

void RelayGauges::ClearLeader() {
  for (auto* gauge : {&metrics_.inflight_records, &metrics_.inflight_bytes,
                      &metrics_.inflight_transactions, &metrics_.inflight_records_limit,
                      &metrics_.inflight_bytes_limit, &metrics_.replication_received_lsn,
                      &metrics_.replication_flushed_lsn, &metrics_.progress_recorded_lsn,
                      &metrics_.progress_recorded_timestamp, &metrics_.kafka_transaction_age}) {
    gauge->Clear();
  }
}

}  // namespace walrelay
