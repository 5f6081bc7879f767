// Outcome: what became of a message of the stream, or of the record of its row.
#pragma once

namespace walrelay {

// Handled, or the reason why it cannot be handled now; then the same message is offered again
// later, and no later message before it. A failure is not an outcome but a Status.
enum class Outcome {
  kHandled,
  kStored,          // handled: the topic has the row's event already, and no record was sent
  kTopicPending,    // the metadata of the record's topic is being fetched
  kQueueFull,       // the producer's queue is full for the moment
  kAwaitingReport,  // the record is sent alone, and is in flight or waits for records in flight
  kLogFull,         // the row is to be skipped, and the log has no room for the audit line
};

}  // namespace walrelay
