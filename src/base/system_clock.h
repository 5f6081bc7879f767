// SystemClock: the machine's clocks. Monotonic time is CLOCK_BOOTTIME, which includes the time
// during which a virtual machine is suspended.
#pragma once

#include "walrelay/clock.h"

namespace walrelay {

// Stateless: any number of objects, on any thread. Aborts (WR_CHECK) if the kernel lacks the clock.
class SystemClock final : public Clock {
 public:
  MonoTime Now() const override;
  WallTime WallNow() const override;
};

}  // namespace walrelay
