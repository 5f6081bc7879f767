// XidHorizons: the horizons that a progress record keeps.
//
// A horizon counts once the frontier has passed its position. Four of growing age are kept (the
// newest, and ones about a minute, ten minutes and an hour apart): after a promotion that lost WAL,
// only a horizon before the fork is of use.
//
// Not thread-safe; no I/O.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/ring_queue.h"
#include "walrelay/lsn.h"
#include "walrelay/xid_horizon.h"

namespace walrelay {

class XidHorizons {
 public:
  // Continues with those of a record; ascending.
  void Restore(std::span<const XidHorizon> recorded);
  // Positions after `fork` are not those of this server: these horizons are dropped.
  void ForgetAfter(Lsn fork);
  void Clear() { *this = XidHorizons(); }

  // A new reading. Ignored within ten seconds of the last one that was not restored, and while too
  // many wait for the frontier.
  void Add(const XidHorizon& horizon);
  // Everything before `frontier` is published.
  void Pass(Lsn frontier);
  // Whether Pass() would keep another reading.
  bool WouldPass(Lsn frontier) const {
    return !waiting_.empty() && waiting_.front().insert_lsn <= frontier;
  }

  // The newest one that is kept.
  const std::optional<XidHorizon>& newest() const { return kept_.front(); }
  // Ascending, at most four.
  std::vector<XidHorizon> kept() const;

 private:
  static constexpr size_t kKept = 4;

  void Keep(size_t level, const XidHorizon& horizon);

  RingQueue<XidHorizon> waiting_;
  bool restored_ = false;                              // and nothing was added since
  std::array<std::optional<XidHorizon>, kKept> kept_;  // the newest first
};

}  // namespace walrelay
