#include "slot/slot_alarm.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

struct Step {
  SlotRisk risk;
  double used;  // share of the limit
  Micros left;
};
constexpr Step kSteps[] = {{SlotRisk::kCritical, 0.95, minutes(10)},
                           {SlotRisk::kWarning, 0.8, hours(1)},
                           {SlotRisk::kNotice, 0.5, Micros(0)}};
// Hysteresis: a level is left only when the value is this much better.
constexpr double kSlackUsed = 0.05;
constexpr int kSlackLeft = 2;

double UsedShare(const SlotSample& sample) {
  if (!sample.reserve_bytes()) {
    return 0;
  }
  const auto retained = static_cast<double>(sample.retained_bytes());
  const auto reserve = static_cast<double>(std::max<int64_t>(*sample.reserve_bytes(), 0));
  return retained + reserve > 0 ? retained / (retained + reserve) : 1;
}

}  // namespace

std::string_view NameOf(SlotRisk risk) {
  switch (risk) {
    case SlotRisk::kNone:
      return "none";
    case SlotRisk::kNotice:
      return "notice";
    case SlotRisk::kWarning:
      return "warning";
    case SlotRisk::kCritical:
      return "critical";
    case SlotRisk::kLost:
      return "lost";
  }
  return "?";
}

SlotRisk SlotAlarm::Judge(const SlotSample& sample) {
  if (!sample.exists) {
    return risk_ = SlotRisk::kNone;
  }
  if (sample.wal_status == "lost" || !sample.invalidation_reason.empty()) {
    return risk_ = SlotRisk::kLost;
  }
  if (sample.wal_status == "unreserved") {
    return risk_ = SlotRisk::kCritical;
  }
  const double used = UsedShare(sample);
  for (const Step& step : kSteps) {
    const bool stays = risk_ >= step.risk;
    const bool by_share = used >= step.used - (stays ? kSlackUsed : 0);
    const bool by_time =
        sample.time_to_loss && *sample.time_to_loss < step.left * (stays ? kSlackLeft : 1);
    if (by_share || by_time) {
      return risk_ = step.risk;
    }
  }
  return risk_ = SlotRisk::kNone;
}

absl::Status RiskOf(const SlotSample& sample) {
  if (sample.risk < SlotRisk::kWarning) {
    return absl::OkStatus();
  }
  if (sample.risk == SlotRisk::kLost) {
    return Error(ErrorCode::kSlotLost,
                 sample.invalidation_reason.empty()
                     ? fmt::format("wal_status is {}", sample.wal_status)
                     : fmt::format("invalidation_reason is {}", sample.invalidation_reason));
  }
  std::string text = fmt::format("{} of WAL retained", HumanBytes(sample.retained_bytes()));
  if (const auto reserve = sample.reserve_bytes()) {
    text +=
        fmt::format(", {} left", HumanBytes(static_cast<uint64_t>(std::max<int64_t>(*reserve, 0))));
  }
  if (sample.time_to_loss) {
    text += fmt::format(", enough for {}", HumanDuration(*sample.time_to_loss));
  }
  if (sample.wal_status == "unreserved") {
    text += "; the next checkpoint may remove what the slot needs";
  }
  if (!sample.budget_binds()) {
    return Error(ErrorCode::kSlotAtRisk, text);
  }
  text += fmt::format("; source.max_retained_wal is {}, at which {}",
                      HumanBytes(static_cast<uint64_t>(sample.budget->bytes)),
                      sample.budget->drop_slot ? "walrelay drops the slot" : "nothing is dropped");
  return Error(
      ErrorCode::kSlotAtRisk, text,
      "Fix the cause of the delay (walrelay status reports it). To gain time, raise "
      "source.max_retained_wal as far as the primary's disk allows, and restart walrelay.");
}

}  // namespace walrelay
