// SlotAlarm: how near the slot is to being lost, in a few steps that do not flap.
//
// A step is reached at a share of what the slot may retain, or at a time left; it is left again
// only well below. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "walrelay/slot_sample.h"

namespace walrelay {

// "none", "notice", "warning", "critical", "lost".
std::string_view NameOf(SlotRisk risk);

class SlotAlarm {
 public:
  // Judges `sample`, but for its `risk`.
  SlotRisk Judge(const SlotSample& sample);

 private:
  SlotRisk risk_ = SlotRisk::kNone;
};

// What is to be said aloud of a slot at risk: OK up to kNotice, else WR-2108, with figures.
absl::Status RiskOf(const SlotSample& sample);

}  // namespace walrelay
