// SlotCopy: what a standby of source.dsn has of the slot (Postgres 17 and later).
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "walrelay/lsn.h"

namespace walrelay {

// Why the relay would not find a usable slot on the standby after its promotion.
struct SlotCopyProblem {
  std::string text;
  std::string remedy;  // a statement to run on the standby

  friend bool operator==(const SlotCopyProblem&, const SlotCopyProblem&) = default;
};

struct SlotCopy {
  std::string host;          // as in the DSN, printable
  absl::Status unreachable;  // not OK: the standby cannot be asked, so nothing else is known
  std::vector<SlotCopyProblem> problems;
  Lsn confirmed;  // by the copy; 0/0: there is none

  // Whether the events that are not published yet would survive a failover to this server.
  bool survives() const { return unreachable.ok() && problems.empty(); }

  friend bool operator==(const SlotCopy&, const SlotCopy&) = default;
};

}  // namespace walrelay
