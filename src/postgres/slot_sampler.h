// SlotSampler: polls the state of the slot on a separate connection.
//
// It has its own thread and its own SQL connection, so that it works while nothing streams and does
// not slow down the event path. Needs no privilege beyond LOGIN REPLICATION. Each sample updates
// the slot's metrics, forecasts when the slot is invalidated, updates its risk, and checks that the
// outbox tables are still published, because a table that was removed from the publication causes
// no error. It also reports the catalog rows that publish the tables, from which the relay detects
// that a table was removed from the publication between two samples. Every
// metrics.table_count_interval it counts the rows of the tables.
//
// It is also the first to detect a shutdown of the server: the server closes ordinary connections
// immediately, but waits for walsenders.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/worker_thread.h"
#include "metrics/metrics.h"
#include "postgres/connection.h"
#include "postgres/table_counter.h"
#include "slot/slot_sample.h"
#include "slot/slot_watch.h"
#include "walrelay/clock.h"
#include "walrelay/publication_identity.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct MetricsConfig;
struct SourceConfig;

class SlotSampler {
 public:
  // Called on the sampler's thread.
  struct Callbacks {
    std::function<void()> server_shutting_down;
    // Each sample of the slot, which may not exist.
    std::function<void(const SlotSample&)> slot_sampled;
    // The problem of the publication or a table (WR-23nn); OK if there is none (any more).
    std::function<void(const absl::Status&)> publication_checked;
    // The publication's identity, and when reading it began. Not called for a standby, whose
    // catalog may lag.
    std::function<void(const PublicationState&, MonoTime)> publication_seen;
    // Xids with the publication that was read after them, and when reading them began. Not called
    // for a standby. May be empty.
    std::function<void(const XidReading&, MonoTime)> xids_read;
    // The stream to this process. May be empty.
    std::function<OwnStream()> stream;
    TableCounter::Callbacks tables;
    // A sample failed, or was incomplete. May be empty.
    std::function<void(const absl::Status&)> sample_failed;
  };

  // All arguments must outlive the sampler.
  // Starts the thread, which takes the first sample after `delay`. The callbacks must not block: a
  // late sample makes the forecast worse.
  SlotSampler(const SourceConfig& source, const MetricsConfig& intervals, const Clock& clock,
              Metrics& metrics, Callbacks callbacks, Micros delay = Micros(0));
  // Interrupts a sample that is being taken, and waits for the thread.
  ~SlotSampler();

  SlotSampler(const SlotSampler&) = delete;
  SlotSampler& operator=(const SlotSampler&) = delete;

 private:
  // The body of the thread: a sample per interval, after a first delay.
  void Run(Micros delay);
  absl::Status Sample();
  // Keeps the connection between samples; a new one after an error.
  absl::Status EnsureConnected();
  absl::Status SampleSlot();
  // Sets what one sample alone does not show, and logs a change of the risk.
  void Classify(SlotSample& sample);
  void SetSlotGauges(const SlotSample& sample);
  void SetSilenceGauge(const std::optional<StreamSilence>& silence);
  // The server's counters are those of the slot, so they continue from an unknown value: only
  // increases since the first sample are added.
  void CountSpill(const SpillCounters& now);
  void ClearSlotGauges();
  // Reports a table that is no longer published, as PublicationProblems() sees it. Returns the
  // tables.
  absl::StatusOr<std::vector<TableInfo>> CheckPublication();
  // Reports the identity of the publication, for the relay to compare, and the xids of the sample.
  absl::Status IdentifyPublication();
  // A failed sample may be the first sign of a shutdown.
  void OnSampleFailed(const absl::Status& error);
  // Waits until the next sample is due. False: stop.
  bool Rest(Micros duration);
  // Whether the server has closed the connection, or has announced it.
  bool ConnectionEnded();

  const SourceConfig& source_;
  const MetricsConfig& intervals_;
  const Clock& clock_;
  Metrics& metrics_;
  Callbacks callbacks_;
  std::optional<PgConnection> connection_;
  std::string system_id_;  // of the server of the connection
  Lsn wal_end_;            // in the last sample of the slot
  // In the last sample, with the time when it began, and in the one before, of this connection.
  std::optional<std::pair<XidReading, MonoTime>> xids_;
  std::optional<XidReading> earlier_xids_;
  int samples_ = 0;          // of this connection
  bool terminated_ = false;  // the server announced that it closes this connection
  SlotWatch watch_;
  // The risk that was logged last.
  SlotRisk logged_risk_ = SlotRisk::kNone;
  std::optional<SpillCounters> spill_;  // in the last sample
  TableCounter tables_;
  WorkerThread worker_;  // last
};

}  // namespace walrelay
