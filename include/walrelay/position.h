// Position: permanently identifies one row of the stream.
//
// The server sends a transaction whole, and its rows in the order of their WAL records. Therefore
// the commit LSN of its BEGIN and the position of the row's WAL record identify a row across
// sessions and processes, and their order is the order of the stream. One record may have many rows
// (COPY): these are numbered. Row LSNs alone are not enough: rows of concurrent transactions
// interleave in the WAL.
//
// Rows are not numbered within their transaction: which rows a transaction has depends on the
// publication as the server knows it at the time. If it is altered while the transaction runs,
// another walsender may send other rows. A position is that of the same row in any case.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "walrelay/lsn.h"

namespace walrelay {

// REQUIRES for a comparison: both positions belong to the same cluster and timeline.
struct Position {
  Lsn commit_lsn;      // Begin.final_lsn
  Lsn row_lsn;         // where the row's WAL record begins
  uint32_t index = 0;  // of the row in that record, from 1

  // The first position behind it: rows up to this one are before that.
  constexpr Position Next() const { return {commit_lsn, row_lsn, index + 1}; }

  friend auto operator<=>(const Position&, const Position&) = default;
};

}  // namespace walrelay
