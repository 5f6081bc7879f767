// The table and the commit time of the rows that tests route.
#pragma once

#include <cstdint>

#include "walrelay/clock.h"

namespace walrelay::testing {

inline constexpr uint32_t kOutbox = 16385;  // the OID of the table
inline constexpr WallTime kCommitTime{Micros(1'795'162'442'000'123)};

}  // namespace walrelay::testing
