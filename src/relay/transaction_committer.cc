#include "relay/transaction_committer.h"

#include <algorithm>
#include <utility>

namespace walrelay {
namespace {

// While more arrives all the time: consumers see nothing before the commit.
constexpr Micros kLongestGathering = std::chrono::milliseconds(50);
constexpr Micros kLongestWait = std::chrono::seconds(1);
// A connection attempt waits for a commit so long. The attempt itself may block for longer; without
// Kafka the transaction does not end.
constexpr Micros kLongestDelay = std::chrono::seconds(5);

}  // namespace

// Everything that was handled is in this transaction, or in an earlier one.
ProgressRecorder::Published TransactionCommitter::Published() const {
  return {.frontier = parts_.tracker.resume(),
          .last = parts_.tracker.last_handled(),
          .partial = parts_.pipeline.partial()};
}

bool TransactionCommitter::Splits() const {
  return parts_.pipeline.in_transaction() &&
         parts_.pipeline.rows_in_transaction() <
             static_cast<uint64_t>(parts_.pipeline_config.atomic_rows);
}

// A stream begins before the events in flight, and passes by them.
bool TransactionCommitter::CaughtUp() const {
  return parts_.tracker.resume() > parts_.tracker.last_handled().commit_lsn;
}

// Before the stream is known to be the one that was recorded, it says nothing about what is
// published, and has no new events.
void TransactionCommitter::Turn(MonoTime now, const Session& session, bool draining) {
  awaits_room_ = false;
  if (CaughtUp()) {
    ending_.reset();
  }
  if (!enabled() || committing() || !parts_.pipeline.history_known()) {
    return;
  }
  if (parts_.tracker.records_in_flight() == 0) {
    open_since_.reset();
    Commit(parts_.recorder.Turn(now, Published(), session.requested(), /*at_once=*/draining));
    return;
  }
  open_since_ = open_since_.value_or(now);
  const Micros open = now - *open_since_;
  const bool complete = (session.at_rest() || open >= kLongestGathering) && !Splits();
  if (complete || session.needs_commit() || open >= longest()) {
    awaits_room_ = !parts_.recorder.Record(now, ending_.value_or(Published()));
    Commit(!awaits_room_);
  }
}

// A record that was not accepted is offered again in the next turn.
void TransactionCommitter::Commit(bool recorded) {
  if (recorded) {
    parts_.sink.Commit();
    committed_since_ = std::exchange(open_since_, std::nullopt);
  }
}

MonoTime TransactionCommitter::NextDue(MonoTime now, const Session& session) const {
  const MonoTime later = now + kLongestWait;
  if (!enabled() || committing()) {
    return later;
  }
  if (!open_since_) {
    return parts_.recorder.NextDue(now);
  }
  const MonoTime gathered = *open_since_ + (Splits() ? longest() : kLongestGathering);
  // After it, a record was offered, and the sink wakes the loop when it may accept one.
  const MonoTime due = gathered > now ? std::min(gathered, later) : later;
  // Only reading shows whether more has arrived.
  const bool reads = !Splits() && !session.at_rest() && session.reads_next();
  return reads ? std::min(due, session.next_read()) : due;
}

void TransactionCommitter::OnStreamEnding(MonoTime now) {
  if (CaughtUp() || !ending_) {
    ending_ = Published();
  }
  ended_at_ = now;
  TurnWithoutStream(now);
}

void TransactionCommitter::TurnWithoutStream(MonoTime now) {
  if (enabled() && ending_ && !committing() && parts_.tracker.records_in_flight() > 0) {
    Commit(parts_.recorder.Record(now, *ending_));
  }
}

MonoTime TransactionCommitter::earliest_connection() const {
  const bool ending = enabled() && ending_ && parts_.tracker.records_in_flight() > 0;
  return ending ? ended_at_ + kLongestDelay : MonoTime::min();
}

}  // namespace walrelay
