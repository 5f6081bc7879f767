// PartitionPeriod: the time that one partition of an outbox table covers.
#pragma once

#include <cstdint>

namespace walrelay {

// In UTC; a week begins on Monday.
enum class PartitionPeriod : uint8_t { kHourly, kDaily, kWeekly, kMonthly };

}  // namespace walrelay
