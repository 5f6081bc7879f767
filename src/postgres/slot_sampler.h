// SlotSampler: looks at the slot from outside.
//
// On a thread and a plain SQL connection of its own, so that it tells the truth also while nothing
// streams, and costs the event path nothing. Needs no privilege beyond LOGIN REPLICATION. Each look
// updates the slot's metrics, forecasts when the slot is lost, raises the alarm step by step, and
// checks that the outbox tables are still published: a table that left the publication falls silent
// without any error. It also tells which catalog rows make them so, from which the relay sees that
// a table was out of the publication between two looks.
//
// It also notices first when the server shuts down: ordinary connections are ended at once, while
// walsenders are waited for.
#pragma once

#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "base/unique_fd.h"
#include "metrics/metrics.h"
#include "postgres/connection.h"
#include "postgres/lag_clock.h"
#include "txn/slot_alarm.h"
#include "txn/slot_forecast.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"
#include "walrelay/publication_identity.h"
#include "walrelay/slot_sample.h"

namespace walrelay {

class SlotSampler {
 public:
  // Called on the sampler's thread.
  struct Callbacks {
    std::function<void()> server_shutting_down;
    // Each look at the slot; the server may be without it.
    std::function<void(const SlotSample&)> slot_sampled;
    // What is wrong with the publication or a table (WR-23nn); OK when nothing is (any more).
    std::function<void(const absl::Status&)> publication_checked;
    // Each look at the publication's identity, and when it began. Not on a standby, whose catalog
    // may lag.
    std::function<void(const PublicationLook&, MonoTime)> publication_seen;
    // A look could not be made, or not to its end. May be empty.
    std::function<void(const absl::Status&)> look_failed;
  };

  // All must outlive the sampler.
  SlotSampler(const Config& config, const Clock& clock, Metrics& metrics, Callbacks callbacks);
  ~SlotSampler();

  SlotSampler(const SlotSampler&) = delete;
  SlotSampler& operator=(const SlotSampler&) = delete;

 private:
  void Run();
  absl::Status Look();
  absl::Status EnsureConnected();
  absl::Status SampleSlot();
  void Judge(SlotSample& sample);
  void SetSlotGauges(const SlotSample& sample);
  void CountSpill(const SpillCounters& now);
  void ClearSlotGauges();
  absl::Status CheckPublication();
  absl::Status IdentifyPublication();
  void OnLookFailed(const absl::Status& error);
  // Until the next look is due. False: stop.
  bool Rest(Micros duration);
  bool ConnectionEnded();

  const Config& config_;
  const Clock& clock_;
  Metrics& metrics_;
  Callbacks callbacks_;
  UniqueFd stop_;
  std::optional<PgConnection> connection_;
  Lsn wal_end_;              // at the last look at the slot
  bool terminated_ = false;  // the server said that it ends this connection
  LagClock lag_clock_;
  SlotForecast forecast_;
  SlotAlarm alarm_;
  SlotRisk told_ = SlotRisk::kNone;
  std::optional<SpillCounters> spill_;  // at the last look
  std::thread thread_;                  // last: starts when all else is there
};

}  // namespace walrelay
