#include "world.h"

#include <algorithm>
#include <utility>

#include "check_failure.h"
#include "outbox.h"
#include "sim_log.h"
#include "walrelay/error.h"

namespace walrelay::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The longest back-off is two minutes; a gap or a blocking row needs the operator and a restart.
constexpr Micros kRecovery = seconds(300);
constexpr Micros kBetweenRounds = seconds(2);  // of the operator
constexpr uint64_t kMostSteps = 5'000'000;

}  // namespace

World::World(const Plan& plan, Coverage& coverage, Metrics& metrics, bool trace)
    : plan_(plan),
      context_(plan.seed ^ 0x5DEECE66D, coverage, trace),
      network_{.latency = plan.network_latency, .room = plan.network_room},
      postgres_(context_, plan.postgres),
      kafka_(context_),
      workload_(context_, postgres_, plan),
      metrics_(metrics),
      config_(plan.config) {
  if (config_.source.wait_visible) {
    context_.judge.RequireVisible();
  }
  if (config_.on_error.null_key == OnError::kSkip) {
    context_.judge.AllowSkipping();
  }
  if (config_.on_error.too_large == OnError::kSkip) {
    context_.judge.AllowSkippingTooLarge();
  }
}

const std::string& World::Run() {
  const LogTrace log_trace(context_);
  for (const std::string& topic : kafka_.topics()) {
    kafka_.topic(topic).exists = plan_.topics_exist;
  }
  context_.After(seconds(8), [this] {
    for (const std::string& topic : kafka_.topics()) {
      kafka_.topic(topic).exists = true;
    }
  });
  if (plan_.slot_exists) {
    postgres_.MakeSlot();
  }
  workload_.Schedule();
  ScheduleFaults();
  WatchLimit();
  Attend();
  StartProcess(0);
  if (plan_.second_relay) {
    StartLater(1, milliseconds(200));
  }
  RunUntil(SimClock::kBegin + plan_.End());
  AwaitQuiet();
  CheckProducers();
  EndInGoodOrder();
  wants_restart_ = false;
  return context_.judge.violation();
}

// --- the loop ---

void World::PassUntil(MonoTime time, const std::function<bool()>& stop) {
  while (!context_.judge.failed() && !stop() && Step(time)) {
  }
}

// Runs the next event before `until`. False: there is none.
bool World::Step(MonoTime until) {
  if (++steps_ > kMostSteps) {
    context_.judge.Fail("I11 liveness", "the history does not end");
    return false;
  }
  MonoTime next = context_.agenda.empty() ? until : context_.agenda.next_time();
  RelayProcess* turn = nullptr;
  for (const auto& process : processes_) {
    const auto due = process ? process->NextTurn() : std::nullopt;
    if (due && *due < next) {
      next = *due;
      turn = process.get();
    }
  }
  if (next >= until) {
    context_.clock.MoveTo(until);
    return false;
  }
  context_.clock.MoveTo(next);
  if (turn != nullptr) {
    RunProcess(*turn);
  } else {
    context_.agenda.Take()();
  }
  Reap(0);
  Reap(1);
  return true;
}

void World::RunProcess(RelayProcess& process) {
  try {
    process.RunTurn();
  } catch (const CheckFailure& failure) {
    context_.judge.Fail("assertion", failure.what);
  }
}

// The second connection of each relay polls the slot.
void World::WatchLimit() {
  if (!plan_.sampler) {
    return;
  }
  context_.After(seconds(1), [this] {
    for (const auto& process : processes_) {
      if (process && postgres_.power() == SimPostgres::Power::kUp &&
          process->PastLimit(postgres_.retained_bytes())) {
        process->OnRetainedLimit();
      }
      if (process && postgres_.giving_slot_up()) {
        process->OnSlotAlmostLost();
      }
      if (process && postgres_.power() == SimPostgres::Power::kUp) {
        process->OnPublicationSeen();
      }
    }
    WatchLimit();
  });
}

// --- supervisor and operator ---

void World::StartProcess(size_t number) {
  if (processes_[number] || !wants_restart_) {
    return;
  }
  context_.judge.OnFault();
  processes_[number] =
      std::make_unique<RelayProcess>(RelayProcess::Parts{.context = context_,
                                                         .postgres = postgres_,
                                                         .kafka = kafka_,
                                                         .network = network_,
                                                         .metrics = metrics_,
                                                         .surroundings = *this,
                                                         .config = config_,
                                                         .producer = plan_.producer,
                                                         .number = static_cast<int>(number)});
}

void World::StartLater(size_t number, Micros delay) {
  context_.After(delay, [this, number] { StartProcess(number); });
}

// Removes a process that was killed or has exited; the kernel closes its sockets.
void World::Reap(size_t number) {
  auto& process = processes_[number];
  if (!process || process->in_turn() || !(process->killed() || process->finished())) {
    return;
  }
  const auto gone = std::move(process);
  ++lives_[number];
  gap_possible_ = gap_possible_ || gone->dropped_slot();
  if (gone->killed()) {
    StartLater(number, context_.random.Between(milliseconds(10), seconds(2)));
  } else {
    OnExit(number, *gone);
  }
}

void World::OnExit(size_t number, const RelayProcess& process) {
  const absl::Status& result = process.result();
  context_.Note("[relay {}] ends: {}", number, result.ok() ? "cleanly" : MessageOf(result));
  if (result.ok()) {
    if (!process.asked_to_stop()) {
      context_.judge.Fail("I10 progress", "a relay exited without being asked to");
    }
    if (process.ended_too_soon()) {
      context_.judge.Fail("I7 repetitions",
                          "a relay exited before records in flight were acknowledged");
    }
    // With two relays, the other one may still have rows that it read before.
    if (process.ended_clean() && !plan_.second_relay) {
      context_.coverage.Count("clean end");
      context_.judge.OnCleanEnd(process.handled_end());
    }
    StartLater(number, context_.random.Between(milliseconds(10), seconds(2)));
    return;
  }
  const ErrorCode code = CodeOf(result);
  context_.coverage.Count(fmt::format("exit {}", ToString(code)));
  if (process.dropped_slot() && (code == ErrorCode::kSlotGone || code == ErrorCode::kSlotMissing)) {
    context_.judge.Fail("I13 gaps", "a relay does not report that it dropped the slot itself");
  }
  switch (Describe(code).reaction) {
    case Reaction::kGap:
      OnGap(number, code);
      break;
    case Reaction::kDefinite:
    case Reaction::kConfiguration:
      if (process.has_run()) {
        context_.judge.Fail("I10 progress",
                            fmt::format("a relay that ran ends with {}", ToString(code)));
      } else if (code == ErrorCode::kSlotMissing) {
        OnGap(number, code);
      } else {
        StartLater(number, seconds(2));
      }
      break;
    default:
      context_.judge.Fail("I10 progress", fmt::format("a relay ended with {}", ToString(code)));
  }
}

// The operator reads the message, publishes the missing events by other means, and restarts the
// relay.
void World::OnGap(size_t number, ErrorCode code) {
  if (!gap_possible_ && !plan_.second_relay) {
    context_.judge.Fail("I13 gaps", fmt::format("{} where there is no gap", ToString(code)));
  }
  context_.judge.ExcuseAllHidden();
  context_.After(seconds(2), [this, number, code] {
    MendSlot(code);
    StartProcess(number);
  });
}

// The operator polls the relays and resolves the gaps at which they hold.
void World::Attend() {
  context_.After(kBetweenRounds, [this] {
    for (size_t number = 0; number < processes_.size(); ++number) {
      RelayProcess* process = processes_[number].get();
      if (process == nullptr || process->in_turn()) {
        continue;
      }
      const RelayStatus status = process->status();
      if (status.gap && !status.gap_accepted) {
        SettleGap(*process, *status.gap);
      } else if (!status.gap && postgres_.power() == SimPostgres::Power::kUp &&
                 (HasCode(status.error, ErrorCode::kSlotMissing) ||
                  HasCode(status.error, ErrorCode::kSlotUnusable))) {
        MendSlot(CodeOf(status.error));
      }
    }
    Attend();
  });
}

// An operator who accepts a gap knows its range, and publishes the missing events by other means.
// Half of the operators create the slot first: then the relay detects another gap.
void World::SettleGap(RelayProcess& process, const Gap& gap) {
  const ErrorCode code = CodeOf(gap.error);
  gap_possible_ = gap_possible_ || process.dropped_slot();
  if (!gap_possible_ && !plan_.second_relay) {
    context_.judge.Fail("I13 gaps", fmt::format("{} where there is no gap", ToString(code)));
  }
  const auto number = static_cast<size_t>(process.number());
  if (process.dropped_slot() && code == ErrorCode::kSlotGone) {
    context_.judge.Fail("I13 gaps", "a relay does not report that it dropped the slot itself");
  }
  if (code == ErrorCode::kPublicationChanged) {
    context_.judge.ExcuseHidden(gap.from, gap.to);
  } else {
    if (postgres_.power() == SimPostgres::Power::kUp && context_.random.Chance(50)) {
      MendSlot(code);
    }
    accepted_[number] = code;
  }
  context_.Note("[operator] accepts gap {}: {}", gap.id, RangeOf(gap));
  process.AcceptGap(gap.id);
  process.source().ForgetDroppedSlot();  // the next slot is a different one
}

void World::MendSlot(ErrorCode code) {
  const auto& slot = postgres_.slot();
  const bool held = postgres_.sender() != nullptr;
  if (!slot || slot->lost || (code == ErrorCode::kPublicationSkipped && !held) ||
      slot->confirmed > postgres_.log().flushed()) {
    context_.Note("[operator] recreates the slot");
    postgres_.MakeSlot();
  }
  context_.judge.Excuse(postgres_.slot()->confirmed);
  explained_until_ = context_.now();
}

// A relay cannot know what happened to the slot if it has not streamed before, if it read the
// catalog before the change, or if it attributes the change to another instance.
void World::OnStreaming(size_t number, bool knows_its_past, MonoTime looked_at) {
  const auto accepted = std::exchange(accepted_[number], std::nullopt);
  if (accepted) {
    explained_until_ = context_.now();
    context_.judge.Excuse(postgres_.slot()->confirmed);
  }
  // The earlier state of a publication is unknown before the first read, and on another system.
  if (!knows_its_past || plan_.second_relay || accepted == ErrorCode::kSystemChanged) {
    context_.judge.ExcuseAllHidden();
  }
  const MonoTime tampered = postgres_.tampered_at();
  const bool cannot_know = !knows_its_past || looked_at <= tampered || plan_.second_relay;
  if (tampered > explained_until_ && cannot_know) {
    explained_until_ = tampered;
    context_.judge.Excuse(postgres_.slot()->confirmed);
  }
}

// The operator resolves blocking rows: they go to the dead-letter topic or are skipped.
void World::SettleFlawedRows() {
  if (plan_.flaws == 0 || config_.on_error.null_key != OnError::kStop) {
    return;
  }
  const bool skip = context_.random.Chance(50);
  const OnError policy = skip ? OnError::kSkip : OnError::kDeadLetter;
  config_.on_error = {.null_route = policy,
                      .null_key = policy,
                      .topic = policy,
                      .too_large = OnError::kSkip,
                      .value = policy,
                      .dead_letter_topic = std::string(kDeadLetterTopic)};
  context_.judge.AllowSkippingTooLarge();
  if (skip) {
    context_.judge.AllowSkipping();
  }
  for (const auto& process : processes_) {
    if (process) {
      process->Terminate();
    }
  }
}

// --- the end ---

bool World::CaughtUp() const {
  return context_.judge.Complete() && postgres_.slot() &&
         postgres_.power() == SimPostgres::Power::kUp &&
         postgres_.slot()->confirmed == postgres_.sendable_end();
}

void World::AwaitQuiet() {
  SettleFlawedRows();
  const MonoTime deadline = context_.now() + kRecovery;
  while (!context_.judge.failed() && !CaughtUp() && context_.now() < deadline) {
    RunUntil(context_.now() + milliseconds(500));
  }
  if (context_.judge.failed() || CaughtUp()) {
    return;
  }
  if (!context_.judge.Complete()) {
    context_.judge.Fail("I1 no loss",
                        fmt::format("events {} are not in Kafka", context_.judge.Missing()));
  }
  context_.judge.Fail("I10 progress", "the slot is not confirmed up to the end of the WAL");
}

// One unavailable partition must not lead to a new producer.
void World::CheckProducers() {
  const bool only_stuck =
      plan_.config.source.max_retained_wal == 0 && !plan_.faults.empty() &&
      std::all_of(plan_.faults.begin(), plan_.faults.end(),
                  [](const Fault& fault) { return fault.kind == FaultKind::kStuckPartition; });
  if (!context_.judge.failed() && only_stuck && lives_[0] == 0 && processes_[0] &&
      processes_[0]->use().made > 1) {
    context_.judge.Fail(
        "I15 appends",
        "a new producer was created although brokers respond and no producer failed");
  }
}

// Every relay is asked to stop and must exit in time; the next process must have nothing to repeat.
void World::EndInGoodOrder() {
  if (context_.judge.failed() || plan_.seed % 2 == 0) {
    return;
  }
  workload_.CommitOne();
  RunUntil(context_.now() + context_.random.Between(Micros(0), milliseconds(300)));
  for (const auto& process : processes_) {
    if (process) {
      process->Terminate();
    }
  }
  const RelayProcess* asked = processes_[0].get();
  const int life = lives_[0];
  RunUntil(context_.now() + config_.pipeline.drain_timeout + seconds(5));
  if (!context_.judge.failed() && asked != nullptr && lives_[0] == life) {
    context_.judge.Fail("I10 progress", "a relay that was asked to stop has not exited");
  }
  AwaitQuiet();
}

}  // namespace walrelay::sim
