// PgLog: the write-ahead log of the simulated server, as far as decoding sees it.
//
// Transactions run side by side; each writes its rows where the log stands then, and its commit
// record at the end. What a client gets is ordered by commit records; positions of rows are not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay::sim {

struct LogRow {
  enum class Kind : uint8_t { kInsert, kUpdate, kDelete, kTruncate, kMessage };

  Lsn lsn;
  Kind kind = Kind::kInsert;
  uint32_t oid = 0;
  int event = -1;  // of an outbox row, or of a message
  int schema = 0;  // shape of the table when the row was written
  // Written while the publication did not have the table: it is never sent.
  bool hidden = false;

  bool is_event() const { return event >= 0 && (kind == Kind::kInsert || kind == Kind::kMessage); }
};

struct LogTransaction {
  uint64_t xid = 0;
  Lsn commit_lsn;  // where the commit record starts
  Lsn end_lsn;     // and ends
  WallTime time;
  bool durable = false;
  bool aborted = false;      // an abort record that the server reports although nobody asked for it
  std::vector<LogRow> rows;  // only of tables that are published, but for hidden ones

  bool sends_nothing() const {
    return std::all_of(rows.begin(), rows.end(), [](const LogRow& row) { return row.hidden; });
  }
};

class PgLog {
 public:
  explicit PgLog(Lsn begin) : end_(begin), flushed_(begin) {}

  // Appends a record of so many bytes; returns where it starts.
  Lsn Write(uint64_t bytes) {
    const Lsn start = end_;
    end_ = Lsn(end_.value() + bytes);
    return start;
  }
  void Commit(LogTransaction transaction) {
    transaction.commit_lsn = Write(48);
    transaction.end_lsn = end_;
    transactions_.push_back(std::move(transaction));
  }
  void Flush() { flushed_ = end_; }
  // A crash, a fork, a restored copy: the log ends at `end`.
  void Truncate(Lsn end) {
    while (!transactions_.empty() && transactions_.back().end_lsn > end) {
      transactions_.pop_back();
    }
    end_ = flushed_ = end;
  }

  std::vector<LogTransaction>& transactions() { return transactions_; }
  const std::vector<LogTransaction>& transactions() const { return transactions_; }
  Lsn end() const { return end_; }
  Lsn flushed() const { return flushed_; }

 private:
  std::vector<LogTransaction> transactions_;  // by commit_lsn
  Lsn end_;
  Lsn flushed_;
};

}  // namespace walrelay::sim
