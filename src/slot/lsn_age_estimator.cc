#include "slot/lsn_age_estimator.h"

#include <algorithm>

#include "base/check.h"

namespace walrelay {
namespace {

// About 24 KiB; reached after an hour and a half with the default interval of the sampler.
constexpr size_t kMaxSamples = 1024;
// Samples that are closer together than this fraction of their age are dropped.
constexpr int kFraction = 32;

}  // namespace

// A WAL that does not grow has one entry, however long that lasts.
void LsnAgeEstimator::AddSample(MonoTime now, Lsn wal_end) {
  if (!samples_.empty() && wal_end < samples_.back().wal_end) {
    samples_.clear();  // another server, or another timeline
  }
  WR_CHECK(samples_.empty() || now >= samples_.back().last, "samples are in the order of time");
  if (!samples_.empty() && samples_.back().wal_end == wal_end) {
    samples_.back().last = now;
    return;
  }
  if (samples_.size() >= kMaxSamples) {
    Thin(now);
  }
  WR_CHECK(samples_.empty() || samples_.back().wal_end < wal_end, "positions only grow");
  samples_.push_back({now, now, wal_end});
}

// From the newest to the oldest, in place: an entry is dropped if, without it, the gap between its
// neighbours is small compared with their age. The newest and the oldest entries stay.
void LsnAgeEstimator::Thin(MonoTime now) {
  WR_CHECK(!samples_.empty(), "there are samples to drop");
  auto kept = samples_.rbegin();
  for (auto sample = samples_.rbegin() + 1; sample != samples_.rend(); ++sample) {
    const auto older = sample + 1;
    if (older == samples_.rend() || kept->first - older->last > (now - older->last) / kFraction) {
      *++kept = *sample;
    }
  }
  samples_.erase(samples_.begin(), (kept + 1).base());
}

// The age of the last sample that had not passed the position. The WAL passed it after that, so the
// true age is at most one interval less.
std::optional<Micros> LsnAgeEstimator::Age(MonoTime now, Lsn position) const {
  WR_CHECK(samples_.empty() || now >= samples_.back().last, "samples are in the order of time");
  if (samples_.empty()) {
    return std::nullopt;
  }
  if (position >= samples_.back().wal_end) {
    return Micros(0);
  }
  // The first sample with the end of the WAL beyond the position.
  const auto beyond =
      std::upper_bound(samples_.begin(), samples_.end(), position,
                       [](Lsn p, const Entry& sample) { return p < sample.wal_end; });
  if (beyond != samples_.begin()) {
    return now - (beyond - 1)->last;
  }
  return now > beyond->first ? std::optional(now - beyond->first) : std::nullopt;
}

}  // namespace walrelay
