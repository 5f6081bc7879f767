// AckTracker: computes the position up to which the WAL may be confirmed.
//
// A FIFO with one entry per transaction that produced records, in stream order, which is commit
// order. A transaction is complete when its COMMIT was received and all of its records were
// acknowledged. The frontier is the end of the last transaction before the first incomplete one. It
// is never the highest acknowledged position, because across partitions most acknowledgements
// arrive out of order, and Postgres discards confirmed WAL permanently.
//
// A position without records (a keepalive's wal_end, a transaction of other tables) covers the
// stream before it. It therefore needs no entry: it moves the end of the last transaction in the
// queue, which cannot be confirmed before the earlier ones, or the frontier itself when nothing is
// in flight. (Postgres' apply worker honours a keepalive only while its list is empty; on a busy
// table one slow record then holds back WAL long after it was acknowledged.)
//
// Entries are numbered, and no number is reused during the life of a tracker, so a late report of
// an abandoned sink matches no live entry: Reset() raises the floor, and numbers below it are
// ignored. (Pointers into the queue would outlive their entries.) A token contains the low half of
// the number, which identifies a transaction among those in flight.
//
// Memory: one small entry per transaction, whatever its size and the traffic of other tables, and
// the marks of a bounded number of records (RowMarks). A stuck record keeps the entries of all
// transactions committed after it, acknowledged or not: the relay's window therefore limits
// transactions as well as records. Not thread-safe; no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ring_queue.h"
#include "stream/row_marks.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/position.h"
#include "walrelay/published_transaction.h"
#include "walrelay/sink.h"

namespace walrelay {

class AckTracker {
 public:
  // `first_number`: of the first transaction, for tests of numbers that a token cannot hold.
  explicit AckTracker(uint64_t first_number = 1) : first_number_(first_number) {}

  // Streaming begins at `position`, and all earlier state is discarded: the first connection, or
  // another timeline, where old positions are not comparable. Only here may the frontier move
  // backwards. `last`: the last transaction with events that is known to be published; all of them
  // committed at `latest_commit` or before.
  void Restart(Lsn position, const PublishedTransaction& last = {}, WallTime latest_commit = {});

  // Streaming resumes at `position` on a new connection: what follows counts once it is read again,
  // and records in flight still count. REQUIRES: no transaction is open, and everything before
  // `position` is published.
  void Resume(Lsn position);

  // BEGIN: the following records belong to this transaction. REQUIRES: none is open.
  void Begin(Lsn commit_lsn, uint32_t xid, WallTime commit_time);

  // The token for the next record of the open transaction. REQUIRES: one is open.
  DeliveryToken token() const;

  // REQUIRES: one is open.
  const PublishedTransaction& open_transaction() const;

  // The row whose record a token in flight identifies, or an earlier one of its transaction: see
  // RowMarks. nullopt for a token from before the last Reset(), and for a record whose number a
  // token cannot represent.
  std::optional<Position> PositionOf(DeliveryToken token) const;

  // The transaction in flight with this COMMIT, if some of its events are published; otherwise not
  // valid.
  PublishedTransaction PartlyPublished(Lsn commit_lsn) const;

  // The sink accepted the record of a row of the open transaction, with token().
  void OnProduced(size_t bytes, Position row);

  // An event of the open transaction was published before. REQUIRES: one is open.
  void OnSettled();

  // COMMIT. REQUIRES: a transaction is open.
  void Commit(Lsn end_lsn);

  // The server has decoded up to `wal_end` and has sent everything relevant up to there.
  void OnKeepalive(Lsn wal_end);

  // The connection broke inside a transaction: the server will send it again from its BEGIN, under
  // a new token. Its records in flight still hold back later transactions; they confirm nothing.
  void AbandonOpen();

  // A record was acknowledged. Returns the commit time of its transaction, or nullopt for a report
  // from before the last Reset(), which is ignored.
  std::optional<WallTime> OnDelivered(DeliveryToken token, size_t bytes);

  // A record sent alone was refused permanently, and its row will be offered again or settled
  // otherwise: it is no longer in flight. REQUIRES: its transaction is open.
  void OnRefused(DeliveryToken token, size_t bytes);

  // Discards all records in flight: they will be read again from the frontier and sent by a new
  // sink.
  void Reset();

  // Everything before this position is acknowledged and may be confirmed to Postgres.
  Lsn frontier() const { return frontier_; }
  // The last transaction before the frontier that has events; as given to Restart() until there is
  // a later one.
  const PublishedTransaction& last_published() const { return last_published_; }
  // The same before resume(): acknowledged or not.
  const PublishedTransaction& last_handled() const { return last_handled_; }
  // The greatest commit time since Restart(), of transactions in flight, too.
  WallTime latest_commit() const { return latest_commit_; }
  // Whether an event of the open transaction was published, now or before.
  bool open_has_events() const { return open_ && (open_produced_ || open_settled_); }
  // The furthest position handled, acknowledged or not ("write" in a status update).
  Lsn received() const { return received_; }
  // The end of what was handled, acknowledged or not, between transactions.
  Lsn resume() const { return resume_; }

  bool in_transaction() const { return open_; }
  size_t records_in_flight() const { return records_in_flight_; }
  size_t bytes_in_flight() const { return bytes_in_flight_; }
  size_t transactions_in_flight() const { return entries_.size(); }
  // Commit time of the oldest incomplete transaction.
  std::optional<WallTime> oldest_commit_time() const;

 private:
  // One transaction that produced a record, from its BEGIN until it is complete and first.
  struct Entry {
    Lsn end_lsn;
    uint64_t produced = 0;  // records
    // Records produced and not yet acknowledged.
    uint64_t outstanding = 0;
    // Its COMMIT was received, or the connection broke inside it.
    bool sealed = false;
    bool committed = false;  // its COMMIT was received
    bool settled = false;    // an event of it was published before
    // From BEGIN.
    PublishedTransaction transaction;
  };

  // nullptr: from before the last Reset().
  Entry* Find(DeliveryToken token);
  const Entry* Find(DeliveryToken token) const;
  // Positions without records of their own: they are confirmed with the last entry.
  void Pass(Lsn position);
  // Removes complete entries from the front, and moves the frontier to their ends.
  void Advance();

  RingQueue<Entry> entries_;
  RowMarks marks_;              // of records of entries_
  uint64_t first_number_;       // of entries_.front(), or of the next entry
  uint64_t floor_ = 1;          // transactions below it were abandoned by Reset()
  bool open_ = false;           // entries_.back() is the open transaction
  bool open_produced_ = false;  // and has records
  bool open_settled_ = false;   // or had some before

  // frontier_ <= resume_ <= received_ at all times.
  Lsn frontier_;
  PublishedTransaction last_published_;
  PublishedTransaction last_handled_;
  WallTime latest_commit_;
  Lsn received_;
  Lsn resume_;
  size_t records_in_flight_ = 0;
  size_t bytes_in_flight_ = 0;
};

}  // namespace walrelay
