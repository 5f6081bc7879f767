// [metrics]: how the slot is polled, and how many series there are.
// Filled and validated by src/config; docs/configuration.md describes each key.
#pragma once

#include <chrono>
#include <cstdint>

#include "walrelay/clock.h"

namespace walrelay {

// slot_poll_interval is at least 100 ms. Topics beyond max_topics share the series "__other__".
struct MetricsConfig {
  Micros slot_poll_interval = std::chrono::seconds(5);
  Micros table_count_interval = std::chrono::seconds(30);  // 0: the tables are not counted
  int64_t max_topics = 200;

  bool operator==(const MetricsConfig&) const = default;
};

}  // namespace walrelay
