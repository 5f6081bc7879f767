// ProcArray: the transactions that the simulated server considers running, as its snapshots show
// them.
//
// A transaction that has flushed its commit is still running until End() is called:
// source.wait_visible closes this window.
//
// Source: Postgres, src/backend/storage/ipc/procarray.c, GetSnapshotData, ProcArrayEndTransaction;
// varsup.c, GetNewTransactionId.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>

#include "walrelay/visibility.h"

namespace walrelay::sim {

class ProcArray {
 public:
  explicit ProcArray(uint64_t first_xid) : next_(first_xid), latest_ended_(first_xid - 1) {}

  uint64_t Begin() {
    constexpr uint64_t kReserved = 3;  // xids whose low 32 bits are below this are never assigned
    while (static_cast<uint32_t>(next_) < kReserved) {
      ++next_;
    }
    running_.insert(next_);
    return next_++;
  }
  // Does nothing for a transaction that a restart has already ended.
  void End(uint64_t xid) {
    if (running_.erase(xid) > 0) {
      latest_ended_ = std::max(latest_ended_, xid);
    }
  }
  // A restarted or another server, which has assigned no xid from `next` on.
  void Restart(uint64_t next) {
    running_.clear();
    next_ = next;
    latest_ended_ = next - 1;
  }
  XidSnapshot Take() const {
    const uint64_t xmax = latest_ended_ + 1;
    XidSnapshot snapshot{.xmin = xmax, .xmax = xmax, .in_progress = {}};
    for (auto it = running_.begin(); it != running_.end() && *it < xmax; ++it) {
      snapshot.xmin = std::min(snapshot.xmin, *it);
      snapshot.in_progress.push_back(*it);
    }
    return snapshot;
  }
  uint64_t next() const { return next_; }

 private:
  uint64_t next_;
  uint64_t latest_ended_;
  std::set<uint64_t> running_;
};

}  // namespace walrelay::sim
