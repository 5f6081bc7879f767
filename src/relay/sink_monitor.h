// SinkMonitor: takes the sink's delivery reports, and decides when it must be replaced.
//
// A sink that failed, whose credentials are outdated, or that makes no progress although the
// brokers could accept its records (StallWatch) is replaced. If it loses no record, the monitor
// replaces it, and the session continues. If records in flight are lost with it, they have to be
// read again: the monitor returns why and how, and its caller restarts the stream.
//
// Single-threaded.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "metrics/metrics.h"
#include "publish/record_sender.h"
#include "publish/replaceable_sink.h"
#include "relay/progress_recorder.h"
#include "relay/run_state.h"
#include "relay/stall_watch.h"
#include "status/relay_view.h"
#include "status/status_board.h"
#include "stream/ack_tracker.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/position.h"

namespace walrelay {

// Records in flight are lost: they must be read again from the frontier and sent by a new sink.
struct Restart {
  absl::Status cause;
  // Rows before it are acknowledged; nullopt: the state of rows after the frontier is unknown.
  std::optional<Position> settled_before;
  // The records to be read again are sent one at a time: the row that caused the failure is not
  // known yet.
  bool single_step = false;
};

// Separate from Relay because it depends only on the sink's side: nothing here knows whether
// Postgres is connected.
class SinkMonitor {
 public:
  struct Parts {
    const Clock& clock;
    ReplaceableSink& sink;
    RecordSender& sender;
    ProgressRecorder& recorder;
    AckTracker& tracker;
    StatusBoard& board;
    const RunState& state;
    Metrics& metrics;
  };

  // `parts` must outlive it.
  explicit SinkMonitor(const Parts& parts) : parts_(parts) {}

  // Takes the reports that have arrived. `topic_awaited_since`: since when a message waits for a
  // topic's metadata. If it returns a Restart, the caller must restart the stream: the sink
  // still exists then, and the tracker still counts the lost records. Without a sink: nullopt.
  std::optional<Restart> Turn(MonoTime now, std::optional<MonoTime> topic_awaited_since);

  // Whether the progress record of the open transaction was refused: the next Turn() ends it.
  bool refused() const;

  // Creates the next sink if it is due.
  // An error is logged and shown; the next attempt is due after a back-off. REQUIRES: a stream
  // runs, so that there is a sink, or a time at which the next one is due.
  void CreateIfDue(MonoTime now);

  // Destroys the sink, and what is known about its failure. Its records in flight are never
  // reported: if there are any, the caller must reset the tracker before it produces again.
  void Destroy();

  const TransactionHistory& transactions() const { return transactions_; }
  // Why records wait, if the brokers were asked; OK if they were not, or after progress.
  const absl::Status& stall() const { return stall_.cause(); }

 private:
  // Passes on that the sink has claimed its transactional id, once it has.
  void TakeClaim();
  // The sink has failed with `error`, and all reports that can be expected have arrived.
  std::optional<Restart> OnFailure(const absl::Status& error, MonoTime now);
  // Some records in flight are lost: decides from where rows must be read again, and how.
  std::optional<Restart> OnLostRecords(const absl::Status& error);
  // Counts the failure of a sink with transactions. Does nothing for others.
  void NoteFailure(const absl::Status& error);
  // The progress record of an open transaction was refused: ends the transaction.
  std::optional<Restart> CheckForRefusal();
  // Since when records wait without any progress; nullopt: none waits.
  std::optional<MonoTime> WaitingSince(const Examiner& examiner,
                                       std::optional<MonoTime> topic_awaited_since) const;
  // Replaces a sink that makes no progress although the brokers could accept its records.
  std::optional<Restart> CheckForStall(MonoTime now, std::optional<MonoTime> topic_awaited_since);
  // Replaces a sink whose credentials are outdated as soon as nothing is in flight.
  std::optional<Restart> CheckCredentials(MonoTime now);
  // Destroys the sink within the session; the next one is due at `retry_at`. REQUIRES: nothing
  // is in flight.
  void Retire(const absl::Status& cause, MonoTime retry_at);

  Parts parts_;
  TransactionHistory transactions_;
  StallWatch stall_;
  // A second failure at the same frontier is not accidental: then the refused row is looked for.
  std::optional<Lsn> failed_at_;  // the frontier when a sink last failed for its own reason
};

}  // namespace walrelay
