#include "base/system_clock.h"

#include <ctime>

#include "base/check.h"

namespace walrelay {
namespace {

// Rounded down to microseconds, the unit of Postgres' timestamps.
Micros Read(clockid_t id) {
  timespec now;
  WR_CHECK(clock_gettime(id, &now) == 0, "the kernel has this clock");
  return std::chrono::seconds(now.tv_sec) +
         std::chrono::floor<Micros>(std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace

// Not CLOCK_MONOTONIC, which stops while the machine sleeps: the relay could not tell that its slot
// may have been taken over.
MonoTime SystemClock::Now() const {
  return MonoTime(Read(CLOCK_BOOTTIME));
}
WallTime SystemClock::WallNow() const {
  return WallTime(Read(CLOCK_REALTIME));
}

}  // namespace walrelay
