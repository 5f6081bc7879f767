#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "admin/status_report.h"
#include "base/text.h"
#include "txn/slot_alarm.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr Micros kPaceWindow = std::chrono::minutes(1);
// A commit that is flushed at once is sent within this time.
constexpr Micros kLateAtPostgres = std::chrono::milliseconds(50);

std::string BytesPerSecond(double rate) {
  return HumanBytes(static_cast<uint64_t>(std::llround(rate))) + "/s";
}

const SlotSample* SlotOf(const StatusReport& report) {
  const auto& slot = report.snapshot.slot;
  return slot && slot->exists ? &*slot : nullptr;
}

std::string WithoutRelay(const StatusReport& report) {
  const SlotSample* slot = SlotOf(report);
  if (slot == nullptr) {
    return "No relay answers here, and Postgres has no slot of this name: nothing is relayed.";
  }
  if (slot->active) {
    return fmt::format(
        "No relay answers here, but server process {} reads the slot: a relay runs elsewhere.",
        slot->active_pid);
  }
  return "No relay answers here and nobody reads the slot: events wait in Postgres.";
}

std::string CatchingUp(const StatusReport& report) {
  const SlotSample* slot = SlotOf(report);
  if (slot == nullptr) {
    return "Events flow, but later than they were committed.";
  }
  std::string text = fmt::format("Events flow, {} behind.", HumanBytes(slot->lag_bytes()));
  if (slot->time_until_caught_up) {
    text += fmt::format(" Caught up in about {}.", SpanWords(*slot->time_until_caught_up));
  }
  return text;
}

std::string Streaming(const StatusReport& report) {
  const uint64_t in_flight = report.snapshot.relay.figures.records_in_flight;
  if (in_flight == 0) {
    return "Everything that was read is acknowledged by Kafka and confirmed to Postgres.";
  }
  return fmt::format("{} {} on the way to Kafka.", Grouped(in_flight),
                     in_flight == 1 ? "event is" : "events are");
}

std::string SlotEnd(const SlotSample& slot) {
  if (!slot.invalidation_reason.empty()) {
    return fmt::format(
        "Postgres has invalidated the slot ({}): what it had not sent is no longer in the log.",
        slot.invalidation_reason);
  }
  return "Postgres has invalidated the slot: what it had not sent is no longer in the log.";
}

// The operator's limit is reached, or will be before the server's.
std::string BudgetWords(const SlotSample& slot) {
  const std::string limit = fmt::format("source.max_retained_wal ({})",
                                        HumanBytes(static_cast<uint64_t>(slot.budget->bytes)));
  return slot.past_budget()
             ? fmt::format("That is as much as {} allows, or more: {}", limit,
                           slot.budget->drop_slot ? "the relay that reads the slot drops it."
                                                  : "nothing is dropped, but it costs the server's "
                                                    "disk what you did not want to give.")
             : fmt::format("{} more may be written before {} is reached, where {}",
                           HumanBytes(static_cast<uint64_t>(*slot.budget_left())), limit,
                           slot.budget->drop_slot ? "the slot is dropped" : "nothing is dropped");
}

std::string LimitWords(const SlotSample& slot) {
  const auto left = slot.reserve_bytes();
  if (!left) {
    return "There is no limit (max_slot_wal_keep_size is -1): while nothing is confirmed, this can "
           "fill the server's disk.";
  }
  const auto reserve = static_cast<uint64_t>(std::max<int64_t>(*left, 0));
  if (slot.budget_binds() && slot.past_budget()) {
    return BudgetWords(slot);
  }
  if (reserve == 0) {
    return "The reserve is used up: the next checkpoint may remove what the slot needs.";
  }
  const std::string text =
      slot.budget_binds()
          ? BudgetWords(slot)
          : fmt::format("{} more may be written before it is lost", HumanBytes(reserve));
  if (slot.time_to_loss) {
    return fmt::format("{}: at {}, in about {}.", text,
                       BytesPerSecond(slot.wal_bytes_per_second.value_or(0)),
                       SpanWords(*slot.time_to_loss));
  }
  if (slot.wal_bytes_per_second && *slot.wal_bytes_per_second >= 1) {
    const double seconds = static_cast<double>(reserve) / *slot.wal_bytes_per_second;
    const auto span =
        std::chrono::duration_cast<Micros>(std::chrono::duration<double>(std::min(seconds, 1e9)));
    return fmt::format("{}. If nothing more were confirmed, that would last {} at {}.", text,
                       SpanWords(span), BytesPerSecond(*slot.wal_bytes_per_second));
  }
  return text + ".";
}

std::string HolderWords(const SlotSample& slot) {
  const LogHolder& holder = *slot.held_by;
  std::string who = holder.pid != 0
                        ? fmt::format("server process {}", holder.pid)
                        : fmt::format("prepared transaction \"{}\"", holder.prepared_as);
  for (const auto& [name, value] :
       {std::pair("user", &holder.user), std::pair("application", &holder.application),
        std::pair("database", &holder.database)}) {
    if (!value->empty()) {
      who += fmt::format(", {} {}", name, *value);
    }
  }
  return fmt::format(
      "{} of it is confirmed and kept all the same, because a transaction is open{}: {}.",
      HumanBytes(slot.held_bytes()),
      holder.age ? fmt::format(" since {}", SpanWords(*holder.age)) : "", who);
}

std::string SpillWords(const SpillCounters& spill) {
  return fmt::format(
      "To decode, Postgres has written {} {} ({}) to its disk; a larger logical_decoding_work_mem "
      "spares it that.",
      Grouped(spill.spilled_transactions),
      spill.spilled_transactions == 1 ? "transaction" : "transactions",
      HumanBytes(spill.spilled_bytes));
}

}  // namespace

std::string_view NameOf(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "good";
    case Tone::kBusy:
      return "busy";
    case Tone::kWarning:
      return "warning";
    case Tone::kBad:
      return "bad";
  }
  return "?";
}

std::string_view HeadlineOf(const StatusReport& report) {
  const SlotSample* slot = SlotOf(report);
  if (slot != nullptr && slot->risk >= SlotRisk::kCritical) {
    // At a limit at which nothing is dropped nothing is lost.
    const bool costs_only = slot->budget_binds() && !slot->budget->drop_slot;
    return slot->risk == SlotRisk::kLost ? "Slot lost"
           : costs_only                  ? "Slot keeps too much"
                                         : "Slot almost lost";
  }
  if (!report.relay_answered) {
    return "No relay answers";
  }
  switch (report.snapshot.relay.state) {
    case RelayState::kStarting:
      return "Starting";
    case RelayState::kStandby:
      return "Standing by";
    case RelayState::kCatchingUp:
      return "Catching up";
    case RelayState::kStreaming:
      return "Events flow";
    case RelayState::kDegraded:
      return "Interrupted";
    case RelayState::kBlocked:
      return report.snapshot.relay.gap ? "Events may be missing" : "Blocked";
    case RelayState::kDraining:
      return "Stopping";
    case RelayState::kStopped:
      return "Stopped";
  }
  return "?";
}

namespace {

std::string StateWords(const StatusReport& report) {
  if (!report.relay_answered) {
    return WithoutRelay(report);
  }
  switch (report.snapshot.relay.state) {
    case RelayState::kStarting:
      return "Connecting to Postgres and Kafka for the first time.";
    case RelayState::kStandby:
      return "Another instance relays the events; this one takes over when it goes.";
    case RelayState::kCatchingUp:
      return CatchingUp(report);
    case RelayState::kStreaming:
      return Streaming(report);
    case RelayState::kDegraded:
      return SlotOf(report) != nullptr || report.snapshot.relay.figures.received.valid()
                 ? "Events wait in Postgres and none is lost; walrelay retries by itself."
                 : "walrelay retries by itself. It has not seen the slot since it started, so it "
                   "cannot say what waits in Postgres.";
    case RelayState::kBlocked:
      return report.snapshot.relay.gap
                 ? "Nothing is published until an operator accepts the gap that is named below: "
                   "walrelay resume --accept-gap."
                 : "Publishing is blocked until somebody acts. No event is lost, and none "
                   "overtakes.";
    case RelayState::kDraining:
      return "What is in flight is awaited and confirmed; then the process ends.";
    case RelayState::kStopped:
      return "The process is ending.";
  }
  return "";
}

}  // namespace

std::string SummaryOf(const StatusReport& report) {
  const SlotSample* slot = SlotOf(report);
  if (slot == nullptr || slot->risk < SlotRisk::kCritical) {
    return StateWords(report);
  }
  if (slot->risk == SlotRisk::kLost) {
    return SlotEnd(*slot);
  }
  return fmt::format("What {} for unpublished events is nearly used up{}. {}",
                     slot->budget_binds() ? "the slot may keep" : "Postgres may keep",
                     slot->time_to_loss
                         ? fmt::format(": it lasts for about {}", SpanWords(*slot->time_to_loss))
                         : "",
                     StateWords(report));
}

Tone ToneOf(const StatusReport& report) {
  const SlotSample* slot = SlotOf(report);
  const SlotRisk risk = slot != nullptr ? slot->risk : SlotRisk::kNone;
  const RelayState state = report.snapshot.relay.state;
  if (risk >= SlotRisk::kCritical || !report.snapshot.source_problem.ok() ||
      (report.relay_answered && state == RelayState::kBlocked)) {
    return Tone::kBad;
  }
  if (!report.relay_answered) {
    return slot != nullptr && slot->active ? Tone::kBusy : Tone::kWarning;
  }
  const SamplerLooks& looks = report.snapshot.looks;
  const bool blind =
      !looks.failure.ok() || (looks.publication && !looks.IsCurrent(looks.publication, report.now));
  if (risk == SlotRisk::kWarning || blind || state == RelayState::kDegraded ||
      state == RelayState::kDraining || state == RelayState::kStopped) {
    return Tone::kWarning;
  }
  return state == RelayState::kStreaming ? Tone::kGood : Tone::kBusy;
}

std::vector<Problem> ProblemsOf(const StatusReport& report) {
  std::vector<Problem> problems;
  const auto add = [&](const absl::Status& error, const std::string& detail) {
    if (!error.ok()) {
      problems.push_back({error, detail});
    }
  };
  const SlotSample* slot = SlotOf(report);
  if (slot != nullptr) {
    add(RiskOf(*slot), "");
  }
  add(report.snapshot.source_problem, "");
  if (report.relay_answered) {
    add(report.snapshot.relay.error, report.snapshot.relay.detail);
  } else if (slot == nullptr) {
    add(Error(ErrorCode::kSlotMissing, report.identity.slot), "");
  }
  return problems;
}

std::vector<std::string> UnknownsOf(const StatusReport& report) {
  std::vector<std::string> words;
  if (!report.relay_answered) {
    return words;  // the slot was looked at for this report
  }
  const SamplerLooks& looks = report.snapshot.looks;
  const std::string cause =
      looks.failure.ok() ? "" : fmt::format(" ({})", ToString(CodeOf(looks.failure)));
  for (const auto& [subject, look] : {std::pair("The slot", &looks.slot),
                                      std::pair("Publication and tables", &looks.publication)}) {
    if (!*look) {
      words.push_back(fmt::format("{}: not checked since the start{}.", subject, cause));
    } else if (!looks.IsCurrent(*look, report.now)) {
      words.push_back(fmt::format("{}: last checked {} ago{}.", subject,
                                  SpanWords(report.now - **look), cause));
    }
  }
  return words;
}

OldestWords OldestOf(const StatusReport& report) {
  const RelayFigures& figures = report.snapshot.relay.figures;
  if (figures.oldest_commit) {
    return {SpanWords(report.now - *figures.oldest_commit), ""};
  }
  if (figures.cut_off_since) {
    return {"unknown",
            fmt::format("nothing read for {}", SpanWords(report.now - *figures.cut_off_since))};
  }
  return {"none", ""};
}

std::vector<std::string> SlotWords(const SlotSample& slot) {
  if (!slot.exists) {
    return {"Postgres has no slot of this name."};
  }
  if (slot.risk == SlotRisk::kLost) {
    return {SlotEnd(slot)};
  }
  std::vector<std::string> words = {
      fmt::format("Postgres keeps {} of log for the slot.", HumanBytes(slot.retained_bytes())),
      LimitWords(slot)};
  if (slot.held_by) {
    words.push_back(HolderWords(slot));
  }
  if (slot.spill && slot.spill->spilled_transactions > 0) {
    words.push_back(SpillWords(*slot.spill));
  }
  return words;
}

std::optional<Pace> PaceOf(const std::vector<HistoryPoint>& history) {
  Pace pace;
  Micros span{0};
  uint64_t events = 0;
  for (auto point = history.rbegin(); point != history.rend() && span < kPaceWindow; ++point) {
    span += point->span;
    events += point->events;
    pace.median = std::max(pace.median, point->median);
    pace.slowest = std::max(pace.slowest, point->slowest);
    if (point->stages) {
      StageMedians& stages = pace.stages ? *pace.stages : pace.stages.emplace();
      stages.postgres = std::max(stages.postgres, point->stages->postgres);
      stages.relay = std::max(stages.relay, point->stages->relay);
      stages.kafka = std::max(stages.kafka, point->stages->kafka);
    }
  }
  if (span.count() == 0) {
    return std::nullopt;
  }
  pace.events_per_second =
      static_cast<double>(events) / std::chrono::duration<double>(span).count();
  return pace;
}

std::string StageWords(const Pace& pace) {
  if (!pace.stages) {
    return "";
  }
  const StageMedians& stages = *pace.stages;
  const std::string text = fmt::format("Postgres {}, walrelay and the network {}, Kafka {}",
                                       LatencyWords(stages.postgres), LatencyWords(stages.relay),
                                       LatencyWords(stages.kafka));
  const bool late = stages.postgres > kLateAtPostgres && stages.postgres > stages.kafka;
  return late ? text +
                    ". Most of it passes before Postgres sends a commit: the writers commit with "
                    "synchronous_commit = off, or a backlog is worked off"
              : text;
}

std::string Grouped(uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) {
      out += ',';
    }
    out += digits[i];
  }
  return out;
}

std::string SpanWords(Micros span) {
  const int64_t seconds =
      std::max<int64_t>(std::chrono::floor<std::chrono::seconds>(span).count(), 0);
  if (seconds < 1) {
    return HumanDuration(std::max(span, Micros(0)));
  }
  if (seconds < 60) {
    return fmt::format("{} s", seconds);
  }
  if (seconds < 600 && seconds % 60 != 0) {
    return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  }
  if (seconds < 3600) {
    return fmt::format("{} min", seconds / 60);
  }
  if (seconds < 48 * 3600) {
    return seconds % 3600 < 60 ? fmt::format("{} h", seconds / 3600)
                               : fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
  }
  return fmt::format("{} days", seconds / 86400);
}

std::string LatencyWords(Micros latency) {
  return latency < std::chrono::minutes(1) ? HumanDuration(latency) : SpanWords(latency);
}

}  // namespace walrelay
