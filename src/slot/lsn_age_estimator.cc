#include "slot/lsn_age_estimator.h"

#include <algorithm>

#include "base/check.h"

namespace walrelay {
namespace {

// About 24 KiB; reached after an hour and a half with the default interval of the sampler.
constexpr size_t kMaxLooks = 1024;
// Samples that are closer together than this fraction of their age are dropped.
constexpr int kFraction = 32;

}  // namespace

// A WAL that does not grow has one entry, however long that lasts.
void LsnAgeEstimator::AddSample(MonoTime now, Lsn wal_end) {
  if (!looks_.empty() && wal_end < looks_.back().wal_end) {
    looks_.clear();  // another server, or another timeline
  }
  WR_CHECK(looks_.empty() || now >= looks_.back().last, "samples are in the order of time");
  if (!looks_.empty() && looks_.back().wal_end == wal_end) {
    looks_.back().last = now;
    return;
  }
  if (looks_.size() >= kMaxLooks) {
    Thin(now);
  }
  WR_CHECK(looks_.empty() || looks_.back().wal_end < wal_end, "positions only grow");
  looks_.push_back({now, now, wal_end});
}

// From the newest to the oldest, in place: an entry is dropped if, without it, the gap between its
// neighbours is small compared with their age. The newest and the oldest entries stay.
void LsnAgeEstimator::Thin(MonoTime now) {
  WR_CHECK(!looks_.empty(), "there are samples to drop");
  auto kept = looks_.rbegin();
  for (auto look = looks_.rbegin() + 1; look != looks_.rend(); ++look) {
    const auto older = look + 1;
    if (older == looks_.rend() || kept->first - older->last > (now - older->last) / kFraction) {
      *++kept = *look;
    }
  }
  looks_.erase(looks_.begin(), (kept + 1).base());
}

// The age of the last sample that had not passed the position. The WAL passed it after that, so the
// true age is at most one interval less.
Micros LsnAgeEstimator::Age(MonoTime now, Lsn position) const {
  WR_CHECK(looks_.empty() || now >= looks_.back().last, "samples are in the order of time");
  if (looks_.empty() || position >= looks_.back().wal_end) {
    return Micros(0);
  }
  // The first sample with the end of the WAL beyond the position.
  const auto beyond = std::upper_bound(looks_.begin(), looks_.end(), position,
                                       [](Lsn p, const Entry& look) { return p < look.wal_end; });
  return now - (beyond == looks_.begin() ? beyond->first : (beyond - 1)->last);
}

}  // namespace walrelay
