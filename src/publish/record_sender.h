// RecordSender: hands records to the sink, accounts for them, and receives their delivery
// reports.
//
// Records are sent as fast as the sink accepts them, except after a broker refused some: then
// one at a time (see SingleStep). Rows that are settled already are not sent again. The reports of
// failed records are kept until ClearFailure(): they decide which rows to read again.
//
// It outlives sessions and sinks. Single-threaded.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "metrics/metrics.h"
#include "publish/single_step.h"
#include "stream/ack_tracker.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/position.h"
#include "walrelay/record.h"
#include "walrelay/record_position.h"
#include "walrelay/sink.h"
#include "walrelay/wait.h"

namespace walrelay {

// The failed records of one sink.
struct FailedRecords {
  absl::Status cause;  // named by a report; OK while none has failed
  size_t lost = 0;     // records of rows that were handled: these rows must be read again
  std::optional<Position> first_lost;
  // First record that a broker refused; the others were purged.
  std::optional<Position> first_refused;
  bool unknown_position = false;  // of one of the lost records
};

// Every record that is produced passes through here, so the tracker counts exactly what the
// sink has accepted.
class RecordSender final : public DeliveryListener {
 public:
  // Called for each acknowledged record, with the commit time of its transaction, inside the
  // sink's Poll(). It must not call the sender.
  using Observer = std::function<void(const Delivery&, WallTime commit_time)>;

  // All references must outlive the sender. `observer` may be empty.
  RecordSender(Sink& sink, AckTracker& tracker, Metrics& metrics, const Clock& clock,
               Observer observer);

  // From now on records carry their position in this WAL: see Positions::SkipStored(). Except in
  // the topic for dead letters: whether a row becomes one may depend on the brokers' answer, so
  // that a later row does not show that an earlier one is there.
  void CarryPositions(const WalHistory& history, std::string_view dead_letter_topic) {
    history_ = history;
    dead_letter_topic_ = dead_letter_topic;
  }

  // Sends the record of the row at `position`, in the tracker's open transaction. Call it again
  // with the same record until it is handled. An error concerns this record
  // alone, or is that of the sink (see Sink::Produce). The record's views need not outlive
  // the call. REQUIRES: a transaction of the tracker is open; `position` is the next row of that
  // transaction.
  absl::StatusOr<Offered> Send(const Record& record, Position position);

  // A record of this topic follows: see Sink::Announce().
  bool Announce(std::string_view topic) { return sink_.Announce(topic); }

  // Whether the record of the row at `position` has to be sent alone.
  bool SendsAlone(Position position) const { return step_.Covers(position); }
  // Whether the row at `position` needs no record: it was acknowledged or skipped by on_error
  // before it was read again, or the sink has its record.
  bool IsSettled(Position position) const { return position < settled_before_; }
  Position settled_before() const { return settled_before_; }
  // Whether a record that was sent alone is in flight: its row is not handled yet.
  bool AwaitsReport() const { return step_.attempt() == SingleStep::Attempt::kInFlight; }

  // --- after a failure

  // The records from `refused` up to the last one offered failed with their sink: when they are
  // received again, each is sent alone.
  void StepThrough(Position refused);
  // The records in flight were lost: only rows before `position` are settled. nullopt: the state of
  // rows after the frontier is unknown.
  void SetSettledBefore(std::optional<Position> position);
  // Earlier positions are no longer valid: another timeline, or another history.
  void ForgetPositions();
  // Everything before `frontier` is acknowledged.
  void OnFrontier(Lsn frontier) { step_.OnFrontier(frontier); }
  // The session has ended. With an open transaction, `next` is its first row that was not handled:
  // the server sends the transaction again, and its rows before `next` are settled as long as the
  // sink has their records.
  void EndSession(std::optional<Position> next);

  const FailedRecords& failed() const { return failed_; }
  // Whether a report has arrived for each record in flight, and says that it failed.
  bool AllHaveFailed() const { return failed_.lost == tracker_.records_in_flight(); }
  // The sink was destroyed: none of its records is reported any more. REQUIRES: the tracker
  // still counts those that were in flight.
  void OnSinkDestroyed();

  // --- DeliveryListener: reports of the sink

  void OnDelivered(const Delivery& delivery) override;
  void OnFailed(const DeliveryFailure& failure) override;

 private:
  // One step of an attempt; kReport until its report has arrived.
  absl::StatusOr<Offered> SendAlone(const Record& record, Position position);
  // Hands the record to the sink, and counts it if it was accepted.
  absl::StatusOr<Offered> Produce(const Record& record, Position position);

  Sink& sink_;
  AckTracker& tracker_;
  Metrics& metrics_;
  const Clock& clock_;
  Observer observer_;
  SingleStep step_;
  // The end of the range for StepThrough().
  Position last_offered_;    // the furthest record handed to a sink
  Position settled_before_;  // rows before it are not sent again
  std::optional<WalHistory> history_;
  std::string dead_letter_topic_;
  FailedRecords failed_;
};

}  // namespace walrelay
