#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/choices.h"
#include "slot/slot_risk_classifier.h"
#include "status/gap_words.h"
#include "status/slot_words.h"
#include "status/status_report.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A slot that does not exist has no figures.
const SlotSample* SlotOf(const StatusReport& report) {
  const auto& slot = report.snapshot.slot;
  return slot && slot->exists ? &*slot : nullptr;
}

// The stream exists, but Postgres sends nothing.
bool IsSilence(const absl::Status& error) {
  return HasCode(error, ErrorCode::kStandbyAwaited) || HasCode(error, ErrorCode::kStreamSilent);
}

// The words are those of docs/delivery.md.
std::string_view PromiseOf(PipelineMode mode) {
  switch (mode) {
    case PipelineMode::kSlot:
      return "at least once; after a crash, unconfirmed events are published again";
    case PipelineMode::kTopics:
      return "at least once; after a crash, events that the topics have are skipped";
    case PipelineMode::kExactlyOnce:
      return "exactly once for consumers that read committed records";
  }
  return "";
}

// Says whether the slot shows that a relay runs on another host.
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
  if (slot->silence && slot->silence->cause == SilenceCause::kDecoding) {
    text += fmt::format(" Postgres has decoded WAL for {} without sending an event.",
                        FormatDuration(slot->silence->lasted));
  }
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
      return IsSilence(report.snapshot.relay.error) ? "Events wait in Postgres" : "Interrupted";
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

// Says what the state means for events, and what happens next. Promises no more than is known.
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
      if (IsSilence(report.snapshot.relay.error)) {
        return fmt::format(
            "{}: {}. No event is lost; publishing continues when Postgres sends again.",
            Describe(CodeOf(report.snapshot.relay.error)).title,
            MessageOf(report.snapshot.relay.error));
      }
      return SlotOf(report) != nullptr || report.snapshot.relay.figures.received.valid()
                 ? "Postgres retains the events, none is lost; walrelay retries automatically."
                 : "walrelay retries automatically. It has not seen the slot since it started, so "
                   "it does not know what Postgres retains.";
    case RelayState::kBlocked:
      return report.snapshot.relay.gap
                 ? fmt::format(
                       "Nothing is published until an operator decides about the gap "
                       "described below: {}",
                       NextStepOf(*report.snapshot.relay.gap))
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
    return LossWords(*slot);
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
// slot that is being read means that a relay runs elsewhere, which is not a warning.
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

std::string IncomingWords(uint64_t bytes) {
  return fmt::format("a row of up to {}", HumanBytes(bytes));
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

// A standby instance has no transactions, but makes the same promise.
std::string ModeWords(const StatusReport& report) {
  const RelayStatus& relay = report.snapshot.relay;
  std::string words =
      fmt::format("{}: {}", NameOfChoice(report.identity.mode), PromiseOf(report.identity.mode));
  if (relay.transactions && relay.state != RelayState::kStandby) {
    words += fmt::format("; {}", TransactionWords(*relay.transactions, report.now));
  }
  return words;
}

// A failure is not a problem by itself, because the relay has continued since: it is shown for an
// hour.
std::string TransactionWords(const TransactionStatus& transactions, WallTime now) {
  const std::string age =
      transactions.since ? FormatDuration(std::max(now - *transactions.since, Micros(0))) : "";
  std::string words;
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

}  // namespace walrelay
