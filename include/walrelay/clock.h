// Clock: the process' only source of time, and the first of the three seams to external systems.
//
// Two timelines that must not be mixed, hence two types: MonoTime orders events and drives timers;
// it never moves backwards and continues while the machine is suspended. WallTime is the time of
// day, as in Postgres' timestamps, and may jump. Both count microseconds, the unit of Postgres'
// timestamps.
//
// Implementations may be called from any thread. The simulator's clock only moves when the
// simulator advances it.
#pragma once

#include <chrono>

namespace walrelay {

using Micros = std::chrono::microseconds;

// Tag of the monotonic timeline; not usable as a clock itself (there is no now()).
struct MonotonicTimeline {
  using duration = Micros;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicTimeline, duration>;
  static constexpr bool is_steady = true;
};

// A point in time of each timeline. They do not convert to each other, and a difference of the two
// does not compile.
using MonoTime = MonotonicTimeline::time_point;
using WallTime = std::chrono::sys_time<Micros>;

// Pure code receives times as arguments instead of a Clock.
class Clock {
 public:
  virtual ~Clock() = default;
  // Since an unspecified start; later calls never return less.
  virtual MonoTime Now() const = 0;
  // UTC. May be earlier than at the last call, when the system's clock is set.
  virtual WallTime WallNow() const = 0;
};

}  // namespace walrelay
