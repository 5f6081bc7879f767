// TransactionCommitter: decides when a Kafka transaction ends, with pipeline.mode =
// "exactly_once".
//
// Events are published in transactions, each with the record of progress that says so. A
// transaction ends as soon as nothing more has arrived: an event that comes alone is committed at
// once. While it is being committed, events gather for the next one, so transactions grow with the
// load, without a setting.
//
// A database transaction of up to pipeline.atomic_rows rows is not split, unless its publishing is
// interrupted: an open transaction holds back consumers of all pipelines that share a partition
// with it, so none stays open while a row blocks, or without a connection to Postgres.
//
// Single-threaded; does no I/O itself.
#pragma once

#include <optional>

#include "publish/replaceable_sink.h"
#include "relay/pipeline.h"
#include "relay/progress_recorder.h"
#include "relay/session.h"
#include "stream/ack_tracker.h"
#include "walrelay/clock.h"
#include "walrelay/config/pipeline.h"

namespace walrelay {

class TransactionCommitter {
 public:
  struct Parts {
    const PipelineConfig& pipeline_config;
    Micros transaction_timeout;  // brokers abort a transaction that is open for longer
    const AckTracker& tracker;
    const Pipeline& pipeline;
    ProgressRecorder& recorder;
    ReplaceableSink& sink;
  };

  // `parts` must outlive it.
  explicit TransactionCommitter(const Parts& parts) : parts_(parts) {}

  // Whether events are published in transactions.
  bool enabled() const { return parts_.pipeline_config.exactly_once(); }

  // Ends the transaction if it is time; and without one, commits a record of progress that is due.
  // Call it after each turn of the session, and if awaits_room(), also before. `draining`: nothing
  // more follows.
  void Turn(MonoTime now, const Session& session, bool draining);
  // The sink did not accept the record that ends the transaction: its queue is full of events,
  // and those that the session has would take each place in it that becomes free.
  bool awaits_room() const { return awaits_room_; }
  // When to call it again if nothing happens before.
  MonoTime NextDue(MonoTime now, const Session& session) const;

  // The stream ends, and the transaction with it. REQUIRES: the pipeline's session has not ended.
  void OnStreamEnding(MonoTime now);
  // Ends the transaction, if that was not possible when the stream ended. Call it in each turn
  // without a stream.
  void TurnWithoutStream(MonoTime now);
  // No connection attempt should block the turns that the end of the transaction takes before this
  // time. It has passed if the transaction has ended, or does not end soon.
  MonoTime earliest_connection() const;

  // Since when a transaction with events is open; nullopt while it is being committed.
  std::optional<MonoTime> open_since() const { return open_since_; }
  bool committing() const { return enabled() && parts_.recorder.in_flight(); }
  // When the transaction was opened that is open, or is being committed; nullopt: it has no events.
  std::optional<MonoTime> opened() const { return committing() ? committed_since_ : open_since_; }

 private:
  ProgressRecorder::Published Published() const;
  // Whether the stream has come back to the end of what was handled.
  bool CaughtUp() const;
  void Commit(bool recorded);
  // Whether a database transaction would be split that need not be.
  bool Splits() const;
  Micros longest() const { return parts_.transaction_timeout / 3; }

  Parts parts_;
  std::optional<MonoTime> open_since_;
  bool awaits_room_ = false;
  // When the stream ended; until the next one has caught up.
  std::optional<ProgressRecorder::Published> ending_;
  MonoTime ended_at_;
  std::optional<MonoTime> committed_since_;  // the same, of the one that was committed last
};

}  // namespace walrelay
