// RowMarks: the rows that the records in flight were built from.
//
// A delivery report names a record by its number in its transaction. Where that row is in the WAL
// is needed only after a failure. Therefore the records are marked with their positions, and when
// there are too many marks, every other one is dropped: the recent records are marked densely, the
// earlier ones ever more sparsely, and a position that is looked up is that of the record or of an
// earlier one of its transaction.
//
// Memory: bounded, however large the transactions are. Not thread-safe; no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ring_queue.h"
#include "walrelay/position.h"

namespace walrelay {

class RowMarks {
 public:
  // At most `limit` records are marked. REQUIRES: `limit` > 1.
  explicit RowMarks(size_t limit = kLimit);

  // Marks record `number` of a transaction. REQUIRES: records are marked in the order in which they
  // are sent; transactions are numbered in ascending order.
  void Add(uint64_t transaction, uint64_t number, Position row);

  // The row of the record, or an earlier one of the transaction; nullopt: no such row is marked.
  std::optional<Position> Find(uint64_t transaction, uint64_t number) const;

  // Drops the marks of transactions before this one.
  void ForgetBefore(uint64_t transaction);
  void Clear() { marks_.clear(); }

  size_t size() const { return marks_.size(); }

 private:
  static constexpr size_t kLimit = 4096;

  struct Mark {
    uint64_t transaction = 0;
    uint64_t number = 0;
    Position row;
  };

  void Thin();

  size_t limit_;
  RingQueue<Mark> marks_;  // in the order of transaction and number
};

}  // namespace walrelay
