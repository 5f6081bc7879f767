// PgLog: the WAL of the simulated server, as far as decoding reads it.
//
// Transactions run concurrently; each writes its rows at the current end of the WAL, and its commit
// record last. A client receives transactions in the order of their commit records; the positions
// of the rows are not ordered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay::sim {

constexpr uint64_t kCommitBytes = 48;  // of a COMMIT record

struct LogRow {
  enum class Kind : uint8_t { kInsert, kUpdate, kDelete, kTruncate, kMessage };

  Lsn lsn;
  Kind kind = Kind::kInsert;
  uint32_t oid = 0;
  int event = -1;  // of an outbox row or of a logical message
  int schema = 0;  // column set of the table when the row was written
  // Written while the table was not published: it is never sent.
  bool hidden = false;

  bool is_event() const { return event >= 0 && (kind == Kind::kInsert || kind == Kind::kMessage); }
};

struct LogTransaction {
  uint64_t xid = 0;
  Lsn commit_lsn;  // where the commit record starts
  Lsn end_lsn;     // and ends
  WallTime time;   // of the commit
  WallTime begun;  // now() in the transaction
  bool durable = false;
  bool of_origin = false;    // replication wrote it
  bool skipped = false;      // ... and it has no events, as the relay is configured
  bool aborted = false;      // an abort record that the server sends unsolicited
  std::vector<LogRow> rows;  // of published tables, and hidden rows

  bool sends_nothing() const {
    return std::all_of(rows.begin(), rows.end(), [](const LogRow& row) { return row.hidden; });
  }
};

class PgLog {
 public:
  explicit PgLog(Lsn begin) : end_(begin), flushed_(begin) {}

  // Appends a record of `bytes` bytes and returns its start position.
  Lsn Write(uint64_t bytes) {
    const Lsn start = end_;
    end_ = Lsn(end_.value() + bytes);
    return start;
  }
  void Commit(LogTransaction transaction) {
    transaction.commit_lsn = Write(kCommitBytes);
    transaction.end_lsn = end_;
    transactions_.push_back(std::move(transaction));
  }
  // An abort record, which the server does not flush.
  void RollBack(uint64_t xid) {
    Write(40);
    rolled_back_.push_back({xid, end_});
  }
  // No record is of a transaction with this xid or a greater one.
  uint64_t NextXid(uint64_t first) const {
    uint64_t next = first;
    for (const LogTransaction& transaction : transactions_) {
      next = std::max(next, transaction.xid + 1);
    }
    for (const auto& [xid, end] : rolled_back_) {
      next = std::max(next, xid + 1);
    }
    return next;
  }
  void Flush() { flushed_ = end_; }
  // After a crash, a timeline fork or a restore: the WAL ends at `end`.
  void Truncate(Lsn end) {
    while (!transactions_.empty() && transactions_.back().end_lsn > end) {
      transactions_.pop_back();
    }
    while (!rolled_back_.empty() && rolled_back_.back().second > end) {
      rolled_back_.pop_back();
    }
    end_ = flushed_ = end;
  }

  std::vector<LogTransaction>& transactions() { return transactions_; }
  const std::vector<LogTransaction>& transactions() const { return transactions_; }
  Lsn end() const { return end_; }
  Lsn flushed() const { return flushed_; }

 private:
  std::vector<LogTransaction> transactions_;           // by commit_lsn
  std::vector<std::pair<uint64_t, Lsn>> rolled_back_;  // xid, and end of the abort record
  Lsn end_;
  Lsn flushed_;
};

}  // namespace walrelay::sim
