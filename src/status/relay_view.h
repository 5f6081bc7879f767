// RelayView: the state of a relay at the end of a turn, as plain values.
//
// The relay fills one several times a second, when its status is due; the description of the state
// (Describe) and the gauges are functions of it. It refers to none of the relay's objects, so it
// may be kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "outbox/table_reading.h"
#include "slot/slot_sample.h"
#include "status/status_board.h"
#include "stream/gap.h"
#include "stream/published_proof.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

// Tells operators what has become of the Kafka transactions of this process.
struct TransactionHistory {
  bool claimed = false;    // the producer has claimed its transactional id
  uint64_t committed = 0;  // since the process started
  // Why the last attempt to claim the id has failed; OK when none has since the last claim.
  absl::Status claim_error;
  absl::Status failure;  // the last one, of a claim or of a transaction; OK: none
  std::optional<WallTime> failed;
};

struct RelayView {
  // kDisconnected: no connection, until retry_at. kWaitingForSlot: connected, and another process
  // reads the slot. kStreaming: a stream exists.
  enum class Phase { kDisconnected, kWaitingForSlot, kStreaming };

  // A gap that is held.
  struct Held {
    Gap gap;
    bool accepted = false;
    absl::Status error;   // must be fixed before it can be accepted, as of the last check
    uint64_t checks = 0;  // of the source, since the gap was found
  };

  // A transaction that cannot be read, which an operator may accept to lose.
  struct Stuck {
    Gap gap;
    bool accepted = false;
  };

  // The session that reads the stream.
  struct Stream {
    int backend_pid = 0;
    absl::Status blocking_error;  // why publishing is blocked; OK while events flow
    std::string blocked_row;      // names the row for operators; "": no row blocks
    uint64_t incoming_bytes = 0;  // the most that the large message may have that arrives
    std::string_view waits_for;   // a literal; "" while handling is not held up
    bool waits_for_log = false;
    absl::Status unseen;  // why a transaction is held until it is visible; OK while none is held
    std::optional<MonoTime> stalled_since;  // since when no message could be handled
    MonoTime last_handled;
    Micros lag{0};
  };

  // The progress record, as this process read or wrote it last.
  struct Record {
    bool enabled = true;          // false: the user may not use the topic
    std::string topic;            // "" before the first read
    std::optional<Lsn> frontier;  // absent: no record is known
    WallTime written;             // the epoch: unknown
    // The slot may be confirmed up to here; 0/0 if the record is not comparable.
    Lsn confirmable;
    bool lacks_events = false;              // before the acknowledged frontier
    std::optional<MonoTime> waiting_since;  // a record that was due is not acknowledged
  };

  struct Transactions {
    TransactionHistory history;
    bool committing = false;
    // When the transaction was opened that is open, or is being committed.
    std::optional<MonoTime> opened;
  };

  MonoTime now;   // of the turn
  WallTime wall;  // when the view was filled

  Phase phase = Phase::kDisconnected;
  bool has_streamed = false;  // since the process began
  bool stood_by = false;      // another instance held the slot at the last connection
  bool draining = false;
  bool finished = false;
  absl::Status result;         // why it finished
  absl::Status last_error;     // of the last connection or producer, while there is no stream
  absl::Status blocked_error;  // of an earlier stream, until there is progress again
  MonoTime retry_at;           // of the next connection attempt, unless streaming
  MonoTime disconnected_since;
  MonoTime last_delivery;    // or the time since which records are in flight
  std::string accepted_gap;  // the id of the one that was accepted last
  std::optional<Held> held;
  std::optional<Stuck> stuck;
  std::optional<Stream> stream;  // exactly while streaming

  // As in RelayFigures.
  uint64_t acknowledged = 0;
  std::optional<WallTime> last_acknowledged;
  std::optional<WallTime> oldest_commit;
  std::optional<uint64_t> skipped_origin_rows;
  uint64_t records_in_flight = 0;
  uint64_t bytes_in_flight = 0;
  uint64_t transactions_in_flight = 0;
  int64_t max_in_flight_records = 0;
  int64_t max_in_flight_bytes = 0;
  Lsn received;
  Lsn frontier;

  std::optional<Record> record;              // absent with pipeline.progress = "off"
  std::optional<Transactions> transactions;  // only with pipeline.mode = "exactly_once"
  std::optional<PublishedProof> proof;       // what the stream has published; absent without one

  absl::Status kafka_trouble;    // a temporary error of the producer; OK: none
  bool kafka_reachable = false;  // at least one broker
  absl::Status stall;            // why records wait, if the brokers were asked; OK: not asked

  // As the sampler's threads have seen them last.
  std::optional<SlotSample> slot;
  SamplerStatus sampler;
  std::vector<TableReading> tables;
};

}  // namespace walrelay
