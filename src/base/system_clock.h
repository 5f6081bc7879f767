// SystemClock: the machine's clocks. Monotonic time is CLOCK_BOOTTIME, so that a suspended virtual
// machine wakes up knowing how long it was gone.
#pragma once

#include "walrelay/clock.h"

namespace walrelay {

class SystemClock final : public Clock {
 public:
  MonoTime Now() const override;
  WallTime WallNow() const override;
};

}  // namespace walrelay
