// LatencyWindow: quantiles of the latencies of the last seconds, in half a kilobyte.
//
// Four buckets per octave: a quantile is accurate to one eighth, or to one microsecond.
// (Prometheus' histogram covers the whole life of the process and does not compute quantiles.)
// Pure; not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "walrelay/clock.h"

namespace walrelay {

class LatencyWindow {
 public:
  // 0 and negative latencies count as one microsecond; more than 19 hours count as 19 hours.
  void Add(Micros latency) {
    ++buckets_[IndexOf(static_cast<uint64_t>(std::max<int64_t>(latency.count(), 1)))];
    ++count_;
  }

  // The latency that a share `q` of the samples does not exceed; nullopt without samples.
  // REQUIRES: 0 <= q <= 1. Returns the middle of a bucket, not an observed value.
  std::optional<Micros> Quantile(double q) const {
    WR_CHECK(q >= 0 && q <= 1, "a quantile is a share");
    uint64_t below = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      below += buckets_[i];
      if (below > 0 && static_cast<double>(below) >= q * static_cast<double>(count_)) {
        return MiddleOf(i);
      }
    }
    return std::nullopt;
  }

  uint64_t count() const { return count_; }
  void Clear() { *this = LatencyWindow(); }

 private:
  // A bucket is a quarter of an octave: bounds at 1, 1.25, 1.5 and 1.75 times a power of two, in
  // microseconds.
  static constexpr size_t kPerOctave = 4;
  static constexpr size_t kOctaves = 36;  // up to 19 hours

  static size_t IndexOf(uint64_t micros) {
    const auto octave = static_cast<size_t>(std::bit_width(micros) - 1);
    const size_t part = (octave >= 2 ? micros >> (octave - 2) : micros << (2 - octave)) & 3;
    return std::min(octave * kPerOctave + part, kOctaves * kPerOctave - 1);
  }
  // Returned for every latency of the bucket.
  static Micros MiddleOf(size_t index) {
    const double mantissa = 1 + (static_cast<double>(index % kPerOctave) + 0.5) / kPerOctave;
    return Micros(std::llround(std::ldexp(mantissa, static_cast<int>(index / kPerOctave))));
  }

  std::array<uint32_t, kOctaves * kPerOctave> buckets_{};
  uint64_t count_ = 0;
};

}  // namespace walrelay
