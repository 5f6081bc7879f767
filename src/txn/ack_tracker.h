// AckTracker: how far the log may be confirmed.
//
// A FIFO with one entry for each transaction that produced records, in stream order, which is
// commit order. A transaction is done when its COMMIT has been seen and every one of its records
// has been acknowledged. The frontier is the end of the last transaction before the first one that
// is not done: never the highest acknowledged position, for across partitions most acknowledgements
// arrive out of order, and Postgres discards what is confirmed for good.
//
// A position without records of its own (a keepalive's wal_end, a transaction of other tables)
// vouches for the stream before it. It therefore needs no entry: it moves the end of the last
// transaction in the queue, which cannot pass before those in front of it, or the frontier itself
// when nothing is in flight. (Postgres' apply worker lets a keepalive count only while its list is
// empty; then the log of a busy table is held up by a slow record long after it is acknowledged.)
//
// Entries are numbered and no number is used twice in the life of a tracker, so that a late report
// of a producer that was given up names no living entry: Reset() moves the floor, and what is below
// it is ignored. (Pointers into the queue would outlive their entries.) A token holds the low half
// of the number, which is enough to find it among those in flight.
//
// Memory: one small entry a transaction, whatever its size and the traffic of other tables. A
// record that is stuck holds the entries of all that were committed after it, acknowledged or not:
// the window of the relay therefore bounds transactions as well as records. Not thread-safe; no
// I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ring_queue.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/position.h"
#include "walrelay/producer.h"

namespace walrelay {

class AckTracker {
 public:
  // Streaming begins at `position`, and nothing from before counts any more: the first connection,
  // or another timeline, where old positions mean something else. The frontier may go back here
  // only.
  void Restart(Lsn position);

  // Streaming goes on at resume() on a new connection; what is in flight keeps counting. REQUIRES:
  // no transaction is open.
  void Resume();

  // BEGIN: the records that follow belong to this transaction. REQUIRES: none is open.
  void Begin(Lsn commit_lsn, WallTime commit_time);

  // The token for the record of the open transaction's row `ordinal`. REQUIRES: one is open.
  DeliveryToken token(uint64_t ordinal) const;

  // The row that a token in flight names; nullopt for one from before the last Reset(), and for an
  // ordinal that a token cannot hold.
  std::optional<Position> PositionOf(DeliveryToken token) const;

  // A record of the open transaction was accepted by the producer.
  void OnProduced(size_t bytes);

  // COMMIT. REQUIRES: a transaction is open.
  void Commit(Lsn end_lsn);

  // The server has decoded up to `wal_end` and sent all of it that concerns us.
  void OnKeepalive(Lsn wal_end);

  // The connection broke inside a transaction: it will come again from its BEGIN, under a new
  // token. Records of it that are in flight still hold back what follows; they confirm nothing.
  void AbandonOpen();

  // A record was acknowledged. Returns the commit time of its transaction, or nullopt for a report
  // from before the last Reset(), which counts for nothing.
  std::optional<WallTime> OnDelivered(DeliveryToken token, size_t bytes);

  // A record was refused for good, alone, and its row will be offered again or settled otherwise:
  // it is not in flight any more. REQUIRES: its transaction is open.
  void OnRefused(DeliveryToken token, size_t bytes);

  // Forgets all that is in flight: it will be read again from the frontier and sent by a new
  // producer.
  void Reset();

  // Everything before this is acknowledged: what Postgres may be told to forget.
  Lsn frontier() const { return frontier_; }
  // The furthest position handled, acknowledged or not ("write" in a status update).
  Lsn received() const { return received_; }
  // Where a new connection goes on without repeating a transaction that is in flight.
  Lsn resume() const { return resume_; }

  bool in_transaction() const { return open_; }
  size_t records_in_flight() const { return records_in_flight_; }
  size_t bytes_in_flight() const { return bytes_in_flight_; }
  size_t transactions_in_flight() const { return entries_.size(); }
  // Commit time of the oldest transaction that is not done.
  std::optional<WallTime> oldest_commit_time() const;

 private:
  struct Entry {
    Lsn end_lsn;
    uint64_t outstanding = 0;
    bool sealed = false;
    Lsn commit_lsn;
    WallTime commit_time;
  };

  // nullptr: from before the last Reset().
  Entry* Find(DeliveryToken token);
  const Entry* Find(DeliveryToken token) const;
  void Pass(Lsn position);
  void Advance();

  RingQueue<Entry> entries_;
  uint64_t first_number_ = 1;   // of entries_.front(), or of the next one to come
  uint64_t floor_ = 1;          // transactions below it were given up by Reset()
  bool open_ = false;           // entries_.back() is the open transaction
  bool open_produced_ = false;  // and has records

  Lsn frontier_;
  Lsn received_;
  Lsn resume_;
  size_t records_in_flight_ = 0;
  size_t bytes_in_flight_ = 0;
};

}  // namespace walrelay
