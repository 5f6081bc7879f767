// Clock: the process' only source of time, and the first of the three seams to the outside.
//
// Two timelines that must not be mixed, hence two types: MonoTime orders events and drives timers,
// it never goes back and goes on while the machine is suspended; WallTime is what people and
// Postgres mean by a time of day, and may jump. Both count microseconds, the unit of Postgres'
// timestamps.
//
// Implementations are safe to call from any thread. The simulator supplies one that only moves when
// told to.
#pragma once

#include <chrono>

namespace walrelay {

using Micros = std::chrono::microseconds;

// Tag of the monotonic timeline; never a clock that is asked by itself (there is no now()).
struct MonotonicTimeline {
  using duration = Micros;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicTimeline, duration>;
  static constexpr bool is_steady = true;
};

using MonoTime = MonotonicTimeline::time_point;
using WallTime = std::chrono::sys_time<Micros>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonoTime Now() const = 0;
  virtual WallTime WallNow() const = 0;
};

}  // namespace walrelay
