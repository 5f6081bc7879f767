#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "slot/slot_risk_classifier.h"
#include "status/status_report.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The window of "events per second" and of the latencies.
constexpr Micros kPaceWindow = std::chrono::minutes(1);
// Postgres sends a commit within this time if the commit is flushed immediately.
constexpr Micros kLateAtPostgres = std::chrono::milliseconds(50);

std::string BytesPerSecond(double rate) {
  return HumanBytes(static_cast<uint64_t>(std::llround(rate))) + "/s";
}

// A slot that does not exist has no figures.
const SlotSample* SlotOf(const StatusReport& report) {
  const auto& slot = report.snapshot.slot;
  return slot && slot->exists ? &*slot : nullptr;
}

// What the slot shows about a relay on another host, or none.
std::string WithoutRelay(const StatusReport& report) {
  const SlotSample* slot = SlotOf(report);
  if (slot == nullptr) {
    return "No relay answers on this host, and Postgres has no slot of this name: nothing is "
           "published.";
  }
  if (slot->row.active) {
    return fmt::format(
        "No relay answers on this host, but server process {} reads the slot: a relay runs on "
        "another host.",
        slot->row.active_pid);
  }
  return "No relay answers on this host, and no client reads the slot: Postgres retains the "
         "events.";
}

// The time is a forecast from the last samples, hence "about".
std::string CatchingUp(const StatusReport& report) {
  const SlotSample* slot = SlotOf(report);
  if (slot == nullptr) {
    return "Events are published with a delay.";
  }
  std::string text =
      fmt::format("Publishing a backlog of {} of WAL.", HumanBytes(slot->lag_bytes()));
  if (slot->time_until_caught_up) {
    text += fmt::format(" Caught up in about {}.", FormatDuration(*slot->time_until_caught_up));
  }
  return text;
}

// The strongest statement of the page: only with nothing in flight.
std::string Streaming(const StatusReport& report) {
  const uint64_t in_flight = report.snapshot.relay.figures.records_in_flight;
  if (in_flight == 0) {
    return "Every event read is acknowledged by Kafka and confirmed to Postgres.";
  }
  return fmt::format("{} {} in flight to Kafka.", Grouped(in_flight),
                     in_flight == 1 ? "event is" : "events are");
}

std::string SlotEnd(const SlotSample& slot) {
  if (!slot.row.invalidation_reason.empty()) {
    return fmt::format(
        "Postgres has invalidated the slot ({}): changes it had not sent are no longer in the WAL.",
        slot.row.invalidation_reason);
  }
  return "Postgres has invalidated the slot: changes it had not sent are no longer in the WAL.";
}

// REQUIRES: the operator's limit is reached, or will be reached before the server's limit.
std::string BudgetWords(const SlotSample& slot) {
  WR_CHECK(slot.operator_limit_applies(), "there is a limit, and it is reached first");
  const std::string limit = fmt::format("source.max_retained_wal ({})",
                                        HumanBytes(static_cast<uint64_t>(slot.budget->bytes)));
  return slot.past_budget()
             ? fmt::format("{} is reached: {}", limit,
                           slot.budget->drop_slot
                               ? "the relay that reads the slot drops it."
                               : "nothing is dropped, but the slot uses more of the server's disk "
                                 "than you allowed.")
             : fmt::format(
                   "{} more WAL can be written before {} is reached {}",
                   HumanBytes(static_cast<uint64_t>(*slot.budget_left())), limit,
                   slot.budget->drop_slot ? "and the slot is dropped" : "(nothing is dropped)");
}

// The forecast if there is one; otherwise how long the reserve would last at the present rate.
std::string LimitWords(const SlotSample& slot) {
  const auto left = slot.reserve_bytes();
  if (!left) {
    return "There is no limit (max_slot_wal_keep_size is -1): while nothing is confirmed, the "
           "retained WAL can fill the server's disk.";
  }
  const auto reserve = static_cast<uint64_t>(std::max<int64_t>(*left, 0));
  if (slot.operator_limit_applies() && slot.past_budget()) {
    return BudgetWords(slot);
  }
  if (reserve == 0) {
    return "The limit is reached: the next checkpoint may remove WAL that the slot needs.";
  }
  const std::string text =
      slot.operator_limit_applies()
          ? BudgetWords(slot)
          : fmt::format("{} more WAL can be written before the slot is invalidated",
                        HumanBytes(reserve));
  if (slot.time_to_loss) {
    return fmt::format("{}: at {}, in about {}.", text,
                       BytesPerSecond(slot.wal_bytes_per_second.value_or(0)),
                       FormatDuration(*slot.time_to_loss));
  }
  if (slot.wal_bytes_per_second && *slot.wal_bytes_per_second >= 1) {
    const double seconds = static_cast<double>(reserve) / *slot.wal_bytes_per_second;
    // Limited to 1e9 s: more would overflow microseconds in 64 bits.
    const auto span =
        std::chrono::duration_cast<Micros>(std::chrono::duration<double>(std::min(seconds, 1e9)));
    return fmt::format("{}. If no further progress is confirmed, that lasts {} at {}.", text,
                       FormatDuration(span), BytesPerSecond(*slot.wal_bytes_per_second));
  }
  return text + ".";
}

// Why WAL is retained that was confirmed long ago: decoding must be able to restart before the
// oldest transaction that is still open.
std::string HolderWords(const SlotSample& slot) {
  const OldestTransaction& holder = *slot.held_by;
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
      "{} of it is confirmed but still retained, because a transaction {}: {}.",
      HumanBytes(slot.held_bytes()),
      holder.age ? fmt::format("has been open for {}", FormatDuration(*holder.age)) : "is open",
      who);
}

// Spilling is slow and uses disk, but loses nothing.
std::string SpillWords(const SpillCounters& spill) {
  return fmt::format(
      "Postgres has spilled {} {} ({}) to disk while decoding; a larger "
      "logical_decoding_work_mem avoids that.",
      Grouped(spill.spilled_transactions),
      spill.spilled_transactions == 1 ? "transaction" : "transactions",
      HumanBytes(spill.spilled_bytes));
}

}  // namespace

std::string_view NameOf(HealthLevel health) {
  switch (health) {
    case HealthLevel::kGood:
      return "good";
    case HealthLevel::kBusy:
      return "busy";
    case HealthLevel::kWarning:
      return "warning";
    case HealthLevel::kBad:
      return "bad";
  }
  return "?";
}

// The slot comes first: its loss would make every other state irrelevant.
std::string_view HeadlineOf(const StatusReport& report) {
  const SlotSample* slot = SlotOf(report);
  if (slot != nullptr && slot->risk >= SlotRisk::kCritical) {
    // A limit that does not drop the slot loses no events.
    const bool costs_only = slot->operator_limit_applies() && !slot->budget->drop_slot;
    return slot->risk == SlotRisk::kLost ? "Slot invalidated"
           : costs_only                  ? "Slot retains too much"
                                         : "Slot at risk";
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

// What the state means for events, and what happens next. Never more reassuring than what is known.
std::string StateWords(const StatusReport& report) {
  if (!report.relay_answered) {
    return WithoutRelay(report);
  }
  switch (report.snapshot.relay.state) {
    case RelayState::kStarting:
      return "Connecting to Postgres and Kafka for the first time.";
    case RelayState::kStandby:
      return "Another instance publishes the events; this one takes over when that one stops.";
    case RelayState::kCatchingUp:
      return CatchingUp(report);
    case RelayState::kStreaming:
      return Streaming(report);
    case RelayState::kDegraded:
      return SlotOf(report) != nullptr || report.snapshot.relay.figures.received.valid()
                 ? "Postgres retains the events, none is lost; walrelay retries automatically."
                 : "walrelay retries automatically. It has not seen the slot since it started, so "
                   "it does not know what Postgres retains.";
    case RelayState::kBlocked:
      return report.snapshot.relay.gap
                 ? "Nothing is published until an operator accepts the gap described below: "
                   "walrelay resume --accept-gap."
                 : "Publishing is blocked until an operator or a broker fixes the cause. No event "
                   "is lost or reordered.";
    case RelayState::kDraining:
      return "Waiting until the records in flight are acknowledged and confirmed; then the process "
             "exits.";
    case RelayState::kStopped:
      return "The process is exiting.";
  }
  return "";
}

}  // namespace

// The state's own words remain unless the slot is in danger: then the danger comes first, and the
// state after it.
std::string SummaryOf(const StatusReport& report) {
  const SlotSample* slot = SlotOf(report);
  if (slot == nullptr || slot->risk < SlotRisk::kCritical) {
    return StateWords(report);
  }
  if (slot->risk == SlotRisk::kLost) {
    return SlotEnd(*slot);
  }
  return fmt::format(
      "The WAL retained by the slot is close to {}{}. {}",
      slot->operator_limit_applies() ? "source.max_retained_wal" : "the server's limit",
      slot->time_to_loss.value_or(Micros(0)) > Micros(0)
          ? fmt::format(", reached in about {}", FormatDuration(*slot->time_to_loss))
          : "",
      StateWords(report));
}

// From the worst condition to the best: the first one that applies decides. Without an answer, a
// slot that is being read means that a relay runs elsewhere, which is no warning.
HealthLevel HealthOf(const StatusReport& report) {
  const SlotSample* slot = SlotOf(report);
  // A slot that has not been sampled yet counts as safe; UnknownsOf() says that it was not checked.
  const SlotRisk risk = slot != nullptr ? slot->risk : SlotRisk::kNone;
  const RelayState state = report.snapshot.relay.state;
  if (risk >= SlotRisk::kCritical || !report.snapshot.source_problem.ok() ||
      (report.relay_answered && state == RelayState::kBlocked)) {
    return HealthLevel::kBad;
  }
  if (!report.relay_answered) {
    return slot != nullptr && slot->row.active ? HealthLevel::kBusy : HealthLevel::kWarning;
  }
  const SamplerStatus& sampler = report.snapshot.sampler;
  // A relay that cannot check the slot or the publication may miss a change that hides rows: the
  // state is not better than "warning".
  const bool blind = !sampler.failure.ok() ||
                     (sampler.publication && !sampler.IsCurrent(sampler.publication, report.now));
  if (risk == SlotRisk::kWarning || blind || state == RelayState::kDegraded ||
      state == RelayState::kDraining || state == RelayState::kStopped) {
    return HealthLevel::kWarning;
  }
  return state == RelayState::kStreaming ? HealthLevel::kGood : HealthLevel::kBusy;
}

// A relay that does not answer reports nothing; then only Postgres was asked.
std::vector<Problem> ProblemsOf(const StatusReport& report) {
  std::vector<Problem> problems;
  const auto add = [&](const absl::Status& error, const std::string& detail) {
    if (!error.ok()) {
      problems.push_back({error, detail});
    }
  };
  const SlotSample* slot = SlotOf(report);
  if (slot != nullptr) {
    add(RiskStatus(*slot), "");
  }
  add(report.snapshot.source_problem, "");
  if (report.relay_answered) {
    add(report.snapshot.relay.error, report.snapshot.relay.detail);
  } else if (slot == nullptr) {
    add(Error(ErrorCode::kSlotMissing, report.identity.pipeline.slot), "");
  }
  // Without a stream there is no proof: the relay's own problem says why.
  const auto& pruning = report.snapshot.pruning;
  if (pruning && !pruning->error.ok() && CodeOf(pruning->error) != ErrorCode::kPruneUnproven) {
    add(pruning->error, "");
  }
  return problems;
}

// "Not checked" and "all right" must not look alike.
std::vector<std::string> UnknownsOf(const StatusReport& report) {
  std::vector<std::string> words;
  if (!report.record_failure.ok()) {
    words.push_back(fmt::format("Progress record: not read ({}: {}).",
                                ToString(CodeOf(report.record_failure)),
                                MessageOf(report.record_failure)));
  }
  if (!report.relay_answered) {
    return words;  // the slot was read for this report
  }
  const SamplerStatus& sampler = report.snapshot.sampler;
  const std::string cause =
      sampler.failure.ok() ? "" : fmt::format(" ({})", ToString(CodeOf(sampler.failure)));
  for (const auto& [subject, look] : {std::pair("The slot", &sampler.slot),
                                      std::pair("Publication and tables", &sampler.publication)}) {
    if (!*look) {
      words.push_back(fmt::format("{}: not checked since the start{}.", subject, cause));
    } else if (!sampler.IsCurrent(*look, report.now)) {
      words.push_back(fmt::format("{}: last checked {} ago{}.", subject,
                                  FormatDuration(report.now - **look), cause));
    }
  }
  return words;
}

// No event in flight is not the same as no event: while nothing is read, the age is unknown.
OldestWords OldestOf(const StatusReport& report) {
  const RelayFigures& figures = report.snapshot.relay.figures;
  if (figures.oldest_commit) {
    return {FormatDuration(report.now - *figures.oldest_commit), ""};
  }
  if (figures.cut_off_since) {
    return {"unknown", fmt::format("nothing read for {}",
                                   FormatDuration(report.now - *figures.cut_off_since))};
  }
  return {"none", ""};
}

// From what is known about every slot to what concerns few: an invalidated slot has no limit and no
// forecast any more.
std::vector<std::string> SlotWords(const SlotSample& slot) {
  if (!slot.exists) {
    return {"Postgres has no slot of this name."};
  }
  if (slot.risk == SlotRisk::kLost) {
    return {SlotEnd(slot)};
  }
  std::vector<std::string> words = {
      fmt::format("Postgres retains {} of WAL for the slot.", HumanBytes(slot.retained_bytes())),
      LimitWords(slot)};
  if (slot.held_by) {
    words.push_back(HolderWords(slot));
  }
  if (slot.spill && slot.spill->spilled_transactions > 0) {
    words.push_back(SpillWords(*slot.spill));
  }
  return words;
}

// A frontier that is not ahead needs no words.
std::string ProgressWords(const ProgressStatus& progress, WallTime now) {
  if (!progress.enabled) {
    return fmt::format("not recorded: this user may not use topic {}", progress.topic);
  }
  if (!progress.frontier.valid()) {
    return progress.topic.empty() ? "not read yet"
                                  : fmt::format("no record in topic {}", progress.topic);
  }
  std::string words = fmt::format("recorded up to {}", progress.frontier.ToString());
  if (progress.written) {
    words += fmt::format(" {} ago", FormatDuration(std::max(now - *progress.written, Micros(0))));
  }
  if (progress.ahead_bytes.value_or(0) > 0) {
    words += fmt::format(", {} behind what is acknowledged", HumanBytes(*progress.ahead_bytes));
  }
  return words + fmt::format(", in topic {}", progress.topic);
}

std::string PruningWords(const PruneStatus& pruning, WallTime now) {
  std::string words = fmt::format("{} rows since the start", Grouped(pruning.pruned));
  words += pruning.complete
               ? fmt::format("; last complete pass {} ago",
                             FormatDuration(std::max(now - *pruning.complete, Micros(0))))
               : "; no complete pass yet";
  const PruneCount& last = pruning.last;
  if (last.kept > 0) {
    words += fmt::format("; {} rows kept without proof, the oldest is {} old", Grouped(last.kept),
                         FormatDuration(last.oldest_kept.value_or(Micros(0))));
  }
  for (const auto& [partition, reason] : last.partitions.problems) {
    words += fmt::format("; partition {}: {}", partition, reason);
  }
  if (pruning.paused) {
    words += "; paused, because the slot is at risk or behind";
  }
  return words;
}

// A failure is no problem by itself, because the relay has continued since: it is shown for an
// hour.
std::string DeliveryWords(const TransactionStatus& transactions, WallTime now) {
  const std::string age =
      transactions.since ? FormatDuration(std::max(now - *transactions.since, Micros(0))) : "";
  std::string words = "exactly once; ";
  switch (transactions.state) {
    case TransactionState::kClaiming:
      words += "claiming the transactional id";
      break;
    case TransactionState::kIdle:
      words += "no transaction is open";
      break;
    case TransactionState::kOpen:
      words +=
          age.empty() ? "a transaction is open" : fmt::format("a transaction is open for {}", age);
      break;
    case TransactionState::kCommitting:
      words += "committing a transaction";
      if (!age.empty()) {
        words += fmt::format(" that was opened {} ago", age);
      }
      break;
  }
  words += fmt::format("; {} committed since the start", Grouped(transactions.committed));
  if (!transactions.failure.ok() && transactions.failed &&
      now - *transactions.failed < std::chrono::hours(1)) {
    words += fmt::format("; the last failure was {} ago, {}",
                         FormatDuration(std::max(now - *transactions.failed, Micros(0))),
                         ToString(CodeOf(transactions.failure)));
  }
  return words;
}

// The maximum over the points of a minute, because medians of medians are no medians.
std::optional<Throughput> ThroughputOf(const std::vector<HistoryPoint>& history) {
  Throughput throughput;
  Micros span{0};
  uint64_t events = 0;
  for (auto point = history.rbegin(); point != history.rend() && span < kPaceWindow; ++point) {
    span += point->span;
    events += point->events;
    throughput.median = std::max(throughput.median, point->median);
    throughput.slowest = std::max(throughput.slowest, point->slowest);
    if (point->stages) {
      StageMedians& stages = throughput.stages ? *throughput.stages : throughput.stages.emplace();
      stages.postgres = std::max(stages.postgres, point->stages->postgres);
      stages.relay = std::max(stages.relay, point->stages->relay);
      stages.kafka = std::max(stages.kafka, point->stages->kafka);
    }
  }
  // No interval has ended since the start.
  if (span.count() == 0) {
    return std::nullopt;
  }
  throughput.events_per_second =
      static_cast<double>(events) / std::chrono::duration<double>(span).count();
  return throughput;
}

// Names the stage to look at, but only when it dominates.
std::string StageWords(const Throughput& throughput) {
  if (!throughput.stages) {
    return "";
  }
  const StageMedians& stages = *throughput.stages;
  const std::string text = fmt::format("Postgres {}, walrelay and the network {}, Kafka {}",
                                       FormatDuration(stages.postgres),
                                       FormatDuration(stages.relay), FormatDuration(stages.kafka));
  const bool late = stages.postgres > kLateAtPostgres && stages.postgres > stages.kafka;
  return late ? text +
                    ". Most of the latency arises before Postgres sends a commit: writers use "
                    "synchronous_commit = off, or walrelay is processing a backlog"
              : text;
}

// Commas and not the locale's separators: pages and reports look the same on every host.
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

}  // namespace walrelay
