#include "slot/slot_risk_classifier.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "stream/slot_loss.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

// A level, and what reaches it.
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
// A relay that reconnects or is replaced.
constexpr Micros kShortAbsence = std::chrono::seconds(30);

// The used share of the WAL that the slot may retain before the first limit; 0 without a limit.
double UsedShare(const SlotSample& sample) {
  if (!sample.reserve_bytes()) {
    return 0;
  }
  const auto retained = static_cast<double>(sample.retained_bytes());
  const auto reserve = static_cast<double>(std::max<int64_t>(*sample.reserve_bytes(), 0));
  return retained + reserve > 0 ? retained / (retained + reserve) : 1;
}

// The elapsed share of idle_replication_slot_timeout; 0 while the slot is read, and during a short
// reconnection.
double IdleShare(const SlotSample& sample) {
  if (!sample.idle_until()) {
    return 0;
  }
  const Micros idle = sample.taken - *sample.row.inactive_since;
  return idle < kShortAbsence ? 0
                              : std::chrono::duration<double>(idle) /
                                    std::chrono::duration<double>(*sample.idle_timeout);
}

// nullopt: no end is foreseeable.
std::optional<Micros> IdleTimeLeft(const SlotSample& sample) {
  return IdleShare(sample) > 0
             ? std::optional(std::max(*sample.idle_until() - sample.taken, Micros(0)))
             : std::nullopt;
}

// Whether the slot is lost for its idle time before it is lost for its WAL.
bool IdleComesFirst(const SlotSample& sample) {
  const auto left = IdleTimeLeft(sample);
  return left && (!sample.time_to_loss || *left < *sample.time_to_loss) &&
         IdleShare(sample) > UsedShare(sample);
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

// The server's own statement is certain and comes first: "unreserved" means that the next
// checkpoint may remove WAL that the slot needs.
SlotRisk SlotRiskClassifier::Classify(const SlotSample& sample) {
  if (!sample.exists) {
    return risk_ = SlotRisk::kNone;
  }
  if (sample.row.lost()) {
    return risk_ = SlotRisk::kLost;
  }
  if (sample.row.wal_status == "unreserved") {
    return risk_ = SlotRisk::kCritical;
  }
  const double used = std::max(UsedShare(sample), IdleShare(sample));
  const std::optional<Micros> left =
      IdleComesFirst(sample) ? IdleTimeLeft(sample) : sample.time_to_loss;
  // From the highest level down. A level that is held keeps its lower thresholds, and so do those
  // below it.
  for (const Step& step : kSteps) {
    const bool stays = risk_ >= step.risk;
    const bool by_share = used >= step.used - (stays ? kSlackUsed : 0);
    const bool by_time = left && *left < step.left * (stays ? kSlackLeft : 1);
    if (by_share || by_time) {
      return risk_ = step.risk;
    }
  }
  return risk_ = SlotRisk::kNone;
}

// The figures of the sample, so that the message says how long the operator has.
absl::Status RiskStatus(const SlotSample& sample) {
  if (sample.risk < SlotRisk::kWarning) {
    return absl::OkStatus();
  }
  if (sample.risk == SlotRisk::kLost) {
    return SlotLostError(
        sample.row, sample.row.invalidation_reason.empty()
                        ? fmt::format("wal_status is {}", sample.row.wal_status)
                        : fmt::format("invalidation_reason is {}", sample.row.invalidation_reason));
  }
  if (IdleComesFirst(sample)) {
    return Error(ErrorCode::kSlotIdle,
                 fmt::format("no process has read the slot since {}; idle_replication_slot_timeout "
                             "is {}: the first checkpoint after {} invalidates it",
                             Rfc3339(*sample.row.inactive_since),
                             FormatDuration(*sample.idle_timeout), Rfc3339(*sample.idle_until())));
  }
  std::string text = fmt::format("{} of WAL retained", HumanBytes(sample.retained_bytes()));
  if (const auto reserve = sample.reserve_bytes()) {
    text += *reserve <= 0 ? ", none left"
                          : fmt::format(", {} left", HumanBytes(static_cast<uint64_t>(*reserve)));
  }
  if (sample.time_to_loss.value_or(Micros(0)) > Micros(0)) {
    text += fmt::format(", enough for {}", FormatDuration(*sample.time_to_loss));
  }
  if (sample.row.wal_status == "unreserved") {
    text += "; the next checkpoint may remove what the slot needs";
  }
  if (!sample.operator_limit_applies()) {
    return Error(ErrorCode::kSlotAtRisk, text);
  }
  WR_CHECK(sample.budget.has_value(), "an operator's limit that applies is configured");
  text += fmt::format("; source.max_retained_wal is {}, at which {}",
                      HumanBytes(static_cast<uint64_t>(sample.budget->bytes)),
                      sample.budget->drop_slot ? "walrelay drops the slot" : "nothing is dropped");
  return Error(
      ErrorCode::kSlotAtRisk, text,
      "Fix the cause of the delay (walrelay status reports it). To gain time, raise "
      "source.max_retained_wal as far as the primary's disk allows, and restart walrelay.");
}

}  // namespace walrelay
