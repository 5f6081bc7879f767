// PublishedTransaction: identifies a transaction whose events were published.
#pragma once

#include <cstdint>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

// A transaction, as its BEGIN describes it. The position alone does not identify it: the WAL of a
// restored server may contain another transaction at the same position. Nor do position and xid
// together: an application that repeats its work after the restore gets the same again.
struct PublishedTransaction {
  Lsn commit_lsn;  // Begin.final_lsn; 0/0: none
  uint32_t xid = 0;
  WallTime commit_time;

  bool valid() const { return commit_lsn.valid(); }
  // Behind this transaction, and not behind the next one; 0/0: none.
  Lsn behind() const { return valid() ? Lsn(commit_lsn.value() + 1) : Lsn(); }
  friend bool operator==(const PublishedTransaction&, const PublishedTransaction&) = default;
};

}  // namespace walrelay
