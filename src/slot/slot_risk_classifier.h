// SlotRiskClassifier: classifies the risk that the slot is invalidated or dropped, in a few levels
// with hysteresis.
//
// A level is reached at a share of the WAL that the slot may retain, or at a remaining time; it is
// left only well below. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "slot/slot_sample.h"

namespace walrelay {

// "none", "notice", "warning", "critical", "lost".
std::string_view NameOf(SlotRisk risk);

class SlotRiskClassifier {
 public:
  // Classifies `sample`; its own `risk` is ignored. The result depends on earlier samples of the
  // same slot: use one classifier for each. A missing slot has no risk.
  SlotRisk Classify(const SlotSample& sample);

 private:
  SlotRisk risk_ = SlotRisk::kNone;
};

// The error to report for a slot at risk: OK up to kNotice, otherwise WR-2108 with figures, or the
// error of a lost slot (WR-2103). It reports `sample.risk`, which a classifier sets.
absl::Status RiskStatus(const SlotSample& sample);

}  // namespace walrelay
