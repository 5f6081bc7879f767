#include "slot/lag_clock.h"

#include <algorithm>

namespace walrelay {
namespace {

constexpr size_t kMostLooks = 1024;
// Samples that are closer together than this fraction of their age are dropped.
constexpr int kFraction = 32;

}  // namespace

void LagClock::Look(MonoTime now, Lsn wal_end) {
  if (!looks_.empty() && wal_end < looks_.back().wal_end) {
    looks_.clear();  // another server, or another timeline
  }
  if (!looks_.empty() && looks_.back().wal_end == wal_end) {
    looks_.back().last = now;
    return;
  }
  if (looks_.size() >= kMostLooks) {
    Thin(now);
  }
  looks_.push_back({now, now, wal_end});
}

void LagClock::Thin(MonoTime now) {
  auto kept = looks_.rbegin();
  for (auto look = looks_.rbegin() + 1; look != looks_.rend(); ++look) {
    const auto older = look + 1;
    if (older == looks_.rend() || kept->first - older->last > (now - older->last) / kFraction) {
      *++kept = *look;
    }
  }
  looks_.erase(looks_.begin(), (kept + 1).base());
}

Micros LagClock::Age(MonoTime now, Lsn position) const {
  if (looks_.empty() || position >= looks_.back().wal_end) {
    return Micros(0);
  }
  // The first sample with the end of the WAL beyond the position.
  const auto beyond = std::upper_bound(looks_.begin(), looks_.end(), position,
                                       [](Lsn p, const Entry& look) { return p < look.wal_end; });
  return now - (beyond == looks_.begin() ? beyond->first : (beyond - 1)->last);
}

}  // namespace walrelay
