#include "simulation.h"

#include <algorithm>
#include <utility>

#include "check_failure.h"
#include "outbox.h"
#include "sim_log.h"
#include "stream/progress_record.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The longest back-off is two minutes; a gap or a blocking row needs the operator and a restart.
constexpr Micros kRecovery = seconds(300);
constexpr Micros kBetweenRounds = seconds(2);  // of the operator
constexpr uint32_t kFewRows = 6;               // fit into a window
constexpr uint64_t kMaxSteps = 5'000'000;

}  // namespace

Simulation::Simulation(const Scenario& scenario, Coverage& coverage, Metrics& metrics, bool trace)
    : scenario_(scenario),
      context_(scenario.seed ^ 0x5DEECE66D, coverage, trace),
      network_{.latency = scenario.network_latency, .room = scenario.network_room},
      postgres_(context_, scenario.postgres),
      kafka_(context_),
      workload_(context_, postgres_, scenario),
      metrics_(metrics),
      config_(scenario.config),
      readings_(scenario.seed ^ 0x78696473) {
  if (config_.source.wait_visible) {
    context_.oracle.RequireVisible();
  }
  if (exactly_once()) {
    context_.oracle.RequireOnce();
    kafka_.coordinator().verifies = scenario.seed % 2 == 0;
    kafka_.coordinator().atomic = IsAtomic();
  }
  if (config_.on_error.null_key == OnError::kSkip) {
    context_.oracle.AllowSkipping();
  }
  if (config_.on_error.too_large == OnError::kSkip) {
    context_.oracle.AllowSkippingTooLarge();
  }
}

const std::string& Simulation::Run() {
  const LogTrace log_trace(context_);
  for (const std::string& topic : kafka_.topics()) {
    kafka_.topic(topic).exists = scenario_.topics_exist;
  }
  context_.After(seconds(8), [this] {
    for (const std::string& topic : kafka_.topics()) {
      kafka_.topic(topic).exists = true;
    }
  });
  if (scenario_.slot_exists) {
    postgres_.MakeSlot();
    if (records_progress() && scenario_.seed % 4 != 0) {
      AdoptSlot();
    }
  }
  kafka_.topic(kDeadLetterTopic).partitions = scenario_.dead_letter_partitions;
  kafka_.shows_settings = scenario_.kafka_shows_settings;
  kafka_.most_in_sync = scenario_.most_in_sync;
  workload_.Schedule();
  ScheduleFaults();
  WatchLimit();
  Attend();
  StartProcess(0);
  if (scenario_.second_relay) {
    StartLater(1, milliseconds(200));
  }
  RunUntil(SimClock::kBegin + scenario_.End());
  AwaitQuiet();
  CheckProducers();
  EndInGoodOrder();
  wants_restart_ = false;
  CountRepeats();
  return context_.oracle.violation();
}

// With the modes "slot" and "topics", in histories whose faults are drawn in the same way.
void Simulation::CountRepeats() {
  const bool topics = scenario_.config.pipeline.resumes_from_topics();
  const bool comparable =
      std::none_of(scenario_.faults.begin(), scenario_.faults.end(), [](const Fault& fault) {
        return fault.kind == FaultKind::kShortRetention ||
               fault.kind == FaultKind::kAnotherCluster ||
               (fault.kind >= FaultKind::kChangePartitions &&
                fault.kind <= FaultKind::kChangeRouting);
      });
  if (records_progress() && comparable && !exactly_once()) {
    context_.coverage.Count(topics ? kHistoriesTopics : kHistoriesSlot);
    context_.coverage.Add(topics ? kRepeatsTopics : kRepeatsSlot, context_.oracle.repeats());
  }
}

// --- the loop ---

void Simulation::PassUntil(MonoTime time, const std::function<bool()>& stop) {
  for (const auto& process : processes_) {
    if (process) {
      process->HoldUpUntil(time);
    }
  }
  while (!context_.oracle.failed() && !stop() && Step(time)) {
  }
}

// Runs the next event before `until`. False: there is none.
bool Simulation::Step(MonoTime until) {
  if (++steps_ > kMaxSteps) {
    context_.oracle.Fail("I11 liveness", "the history does not end");
    return false;
  }
  MonoTime next = context_.event_queue.empty() ? until : context_.event_queue.next_time();
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
    context_.event_queue.Take()();
  }
  Reap(0);
  Reap(1);
  return true;
}

void Simulation::RunProcess(RelayProcess& process) {
  try {
    process.RunTurn();
  } catch (const CheckFailure& failure) {
    context_.oracle.Fail("assertion", failure.what);
  }
}

bool Simulation::IsAtomic() const {
  const PipelineConfig& pipeline = config_.pipeline;
  const bool large = std::any_of(
      scenario_.transactions.begin(), scenario_.transactions.end(),
      [](const PlannedTransaction& transaction) { return transaction.rows > kFewRows; });
  return !large && pipeline.atomic_rows >= 10'000 && pipeline.max_in_flight_records >= 100 &&
         pipeline.max_in_flight_bytes >= 50'000 && scenario_.flaws == 0 && scenario_.topics_exist &&
         scenario_.producer.queue_limit > 1'000 && config_.kafka.transaction_timeout >= seconds(30);
}

// The second connection of each relay polls the slot.
void Simulation::WatchLimit() {
  if (!scenario_.sampler) {
    return;
  }
  context_.After(seconds(1), [this] {
    const bool samples = ++looks_ % 5 == 0;  // metrics.slot_poll_interval
    for (const auto& process : processes_) {
      if (process && samples) {
        SampleSlot(*process);
      }
      if (process) {
        process->CheckTruth();
      }
      if (process && postgres_.power() == SimPostgres::Power::kUp &&
          process->PastLimit(postgres_.retained_bytes())) {
        process->OnRetainedLimit();
      }
      if (process && postgres_.giving_slot_up()) {
        process->OnSlotAlmostLost();
      }
      if (process && postgres_.power() == SimPostgres::Power::kUp) {
        process->OnPublicationSeen();
        if (!postgres_.Facts().server.in_recovery) {
          ReadXids(*process);
        }
      }
    }
    CheckProofs();
    WatchLimit();
  });
}

void Simulation::SampleSlot(RelayProcess& process) {
  if (process.killed() || process.between_pipelines() || process.asleep()) {
    return;
  }
  if (postgres_.power() != SimPostgres::Power::kUp || network_.unreachable ||
      network_.login_refused || network_.secret_unreadable || network_.full) {
    process.OnSampleFailed(Error(ErrorCode::kPostgresUnreachable, "no connection"));
    return;
  }
  process.OnSlotSampled(postgres_.SampleSlot());
  process.OnPublicationChecked(postgres_.Facts());
}

// A reading may be late: the process was suspended, or the reading began before a failover. The
// connection may reach the server that was replaced.
void Simulation::ReadXids(RelayProcess& process) {
  std::optional<XidReading> xids = postgres_.ReadXids();
  if (readings_.Chance(25)) {
    const auto former = postgres_.ReadFormerXids(readings_.Below(100));
    context_.coverage.Count(former ? "xids of a former server are read" : "xids are read");
    xids = former ? former : xids;
  }
  const Micros late = readings_.Chance(60) ? Micros(0) : readings_.Between(Micros(1), seconds(5));
  const auto number = static_cast<size_t>(process.number());
  context_.After(late, [this, number, xids = *xids, begun = context_.now(), life = lives_[number]] {
    if (processes_[number] && lives_[number] == life) {
      context_.Note("[relay {}] xids: {} at {}, next {}", number, xids.horizon.xid,
                    xids.horizon.insert_lsn.ToString(), xids.next.xid);
      processes_[number]->OnXidsRead(xids, begun);
    }
  });
}

// A relay's pruning asks the server, in the statement that deletes, whether it is that of the
// proof: its timeline, and the walsender that reads the slot. A server that was restored on its
// timeline is recognized by a running relay only.
void Simulation::CheckProofs() {
  const ServerInfo server = postgres_.Facts().server;
  for (const auto& process : processes_) {
    const auto proof = process ? process->published() : std::nullopt;
    if (proof && proof->current && postgres_.sender() &&
        postgres_.sender()->pid() == proof->backend_pid) {
      context_.coverage.Count("a relay proves what is published");
      CheckProof(PublishedXidsOf(proof->progress, server));
    }
  }
  const auto& record = kafka_.decided();
  const bool rewritten = rewritten_generation_ && record->generation <= *rewritten_generation_;
  if (record && !rewritten) {
    context_.coverage.Count("a record proves what is published");
    CheckProof(PublishedXidsOf(*record, server));
  }
}

uint64_t Simulation::XminOf(const LogTransaction& transaction, const LogRow& row) const {
  const uint64_t rewritten =
      IsInLeaf(context_.oracle.event(row.event).key) ? postgres_.RewrittenBy(row.lsn) : 0;
  return rewritten != 0 ? rewritten : transaction.xid;
}

// As src/prune/prune_query.cc: the time column has the default now().
void Simulation::CheckProof(const std::optional<PublishedXids>& proven) {
  if (!proven) {
    return;
  }
  for (const LogTransaction& transaction : postgres_.log().transactions()) {
    // Pruning excludes configurations that skip transactions.
    if (transaction.aborted || transaction.skipped || transaction.begun < proven->from.taken) {
      continue;
    }
    for (const LogRow& row : transaction.rows) {
      if (row.event >= 0 && row.kind == LogRow::Kind::kInsert &&
          proven->Include(static_cast<uint32_t>(XminOf(transaction, row)))) {
        context_.oracle.CheckProven(row.event);
        if (context_.oracle.failed()) {
          context_.Note("[pruner] xid {} is in [{}, {})", transaction.xid, proven->from.xid,
                        proven->before);
          return;
        }
      }
    }
  }
}

// --- supervisor and operator ---

void Simulation::StartProcess(size_t number) {
  if (processes_[number] || !wants_restart_) {
    return;
  }
  if (context_.now() < kept_down_until_) {
    StartLater(number, kept_down_until_ - context_.now());
    return;
  }
  context_.oracle.OnFault();
  kafka_.coordinator().Interrupt(Micros(0));
  processes_[number] =
      std::make_unique<RelayProcess>(RelayProcess::Parts{.context = context_,
                                                         .postgres = postgres_,
                                                         .kafka = kafka_,
                                                         .network = network_,
                                                         .metrics = metrics_,
                                                         .environment = *this,
                                                         .config = config_,
                                                         .producer = scenario_.producer,
                                                         .number = static_cast<int>(number)});
}

void Simulation::StartLater(size_t number, Micros delay) {
  context_.After(delay, [this, number] { StartProcess(number); });
}

// Removes a process that was killed or has exited; the kernel closes its sockets.
void Simulation::Reap(size_t number) {
  auto& process = processes_[number];
  if (!process || process->in_turn() || !(process->killed() || process->finished())) {
    return;
  }
  const auto gone = std::move(process);
  ++lives_[number];
  if (!AcceptanceIsRecorded(number)) {
    accepted_[number].reset();  // it is lost
  }
  settled_in_[number].reset();
  gap_possible_ = gap_possible_ || gone->dropped_slot();
  // The operator knows the range of a gap that a restart forgets, accepted or not.
  const std::optional<Gap> gap = gone->status().gap;
  if (gap && HasCode(gap->error, ErrorCode::kServerBehind)) {
    forgotten_until_[number] = std::max(gap->from, gap->to);
  }
  context_.oracle.Excuse(forgotten_until_[number]);
  if (gone->killed()) {
    StartLater(number, context_.random.Between(milliseconds(10), seconds(2)));
  } else {
    OnExit(number, *gone);
  }
}

void Simulation::OnExit(size_t number, const RelayProcess& process) {
  const absl::Status& result = process.result();
  context_.Note("[relay {}] ends: {}", number, result.ok() ? "cleanly" : MessageOf(result));
  if (result.ok()) {
    if (!process.asked_to_stop()) {
      context_.oracle.Fail("I10 progress", "a relay exited without being asked to");
    }
    process.CheckDrained();
    StartLater(number, context_.random.Between(milliseconds(10), seconds(2)));
    return;
  }
  const ErrorCode code = CodeOf(result);
  context_.coverage.Count(fmt::format("exit {}", ToString(code)));
  if (process.dropped_last_slot() &&
      (code == ErrorCode::kSlotGone || code == ErrorCode::kSlotMissing)) {
    context_.oracle.Fail("I13 gaps", "a relay does not report that it dropped the slot itself");
  }
  switch (Describe(code).reaction) {
    case Reaction::kGap:
      OnGap(number, code);
      break;
    case Reaction::kDefinite:
    case Reaction::kConfiguration:
      if (process.has_run()) {
        context_.oracle.Fail("I10 progress",
                             fmt::format("a relay that ran ends with {}", ToString(code)));
      } else if (code == ErrorCode::kSlotMissing) {
        OnGap(number, code);
      } else {
        StartLater(number, seconds(2));
      }
      break;
    default:
      context_.oracle.Fail("I10 progress", fmt::format("a relay ended with {}", ToString(code)));
  }
}

// The server has crashed before it stored the slot's position, on which the operator has relied:
// the record alone shows it.
bool Simulation::HasLostAdoption() const {
  const auto& record = kafka_.decided();
  return record && !record->last.valid() && postgres_.slot() &&
         postgres_.slot()->confirmed < record->settled_before;
}

void Simulation::CheckJustified(ErrorCode code) {
  const bool unproven = code == ErrorCode::kProgressUnproven && HasLostAdoption();
  if (!gap_possible_ && !scenario_.second_relay && !unproven) {
    context_.oracle.Fail("I13 gaps", fmt::format("{} where there is no gap", ToString(code)));
  }
}

// The operator reads the message, publishes the missing events by other means, and restarts the
// relay.
void Simulation::OnGap(size_t number, ErrorCode code) {
  CheckJustified(code);
  context_.oracle.ExcuseAllHidden();
  context_.After(seconds(2), [this, number, code, generation = kafka_.generation()] {
    MendSlot(code);
    if (records_progress() && code != ErrorCode::kPublicationChanged) {
      AdoptSlot();
    }
    if (kafka_.generation() == generation) {  // not for another relay meanwhile
      AcceptRecordedGap(code);
    }
    StartProcess(number);
  });
}

// The operator polls the relays and resolves the gaps at which they hold.
void Simulation::Attend() {
  context_.After(kBetweenRounds, [this] {
    for (size_t number = 0; number < processes_.size(); ++number) {
      RelayProcess* process = processes_[number].get();
      if (process == nullptr || process->in_turn() || process->between_pipelines()) {
        continue;
      }
      const RelayStatus status = process->status();
      if (status.gap && !status.gap_accepted) {
        CheckGapIsRecorded(*process, *status.gap);
        SettleGap(*process, *status.gap);
      } else if (HasCode(status.error, ErrorCode::kProgressMissing) ||
                 (status.gap_accepted && status.waits_for.find("WR-4018") != std::string::npos)) {
        AdoptSlot();
      } else if (!status.gap && postgres_.power() == SimPostgres::Power::kUp &&
                 (HasCode(status.error, ErrorCode::kSlotMissing) ||
                  HasCode(status.error, ErrorCode::kSlotUnusable))) {
        MendSlot(CodeOf(status.error));
      }
    }
    Attend();
  });
}

// The operator stops all relays and runs walrelay progress init --force.
void Simulation::AdoptSlot() {
  KeepRelaysDown(milliseconds(100));
  if (postgres_.power() != SimPostgres::Power::kUp || !postgres_.slot()) {
    return;
  }
  if (postgres_.slot()->lost) {
    postgres_.MakeSlot();
  }
  const SourceInfo info = postgres_.Facts();
  context_.Note("[operator] adopts the slot");
  Progress record = ProgressFrom(config_.source, config_.pipeline, info);
  record.generation = kafka_.decided() ? kafka_.generation() + 1 : 0;
  kafka_.AppendProgress(record);
  rewritten_until_ = Lsn();
  context_.oracle.AllowRepeats();
  context_.oracle.Excuse(info.slot->confirmed_flush_lsn);
  explained_until_ = context_.now();
}

// Together with another gap that was found before a stream started.
bool Simulation::AcceptanceIsRecorded(size_t number) const {
  return accepted_[number] && kafka_.decided() && kafka_.generation() > accepted_under_[number];
}

// If nothing has kept the relay from it since its last check of the gap.
void Simulation::CheckGapIsRecorded(const RelayProcess& process, const Gap& gap) {
  const MonoTime settled = std::max(kafka_.disturbed_until, kafka_.progress_stable_since);
  const bool disturbed = context_.now() < settled + seconds(11) || kafka_.record_losses() > 0 ||
                         kafka_.deletes_progress || kafka_.topic(kProgressTopic).denied ||
                         !kafka_.ProgressIsStable() || postgres_.power() != SimPostgres::Power::kUp;
  const bool of_another_system =
      kafka_.progress() && kafka_.progress()->system_id != postgres_.Facts().server.system_id;
  const bool exempt = scenario_.second_relay || process.asleep() || process.has_accepted() ||
                      of_another_system || HasCode(gap.error, ErrorCode::kProgressForeign) ||
                      HasCode(gap.error, ErrorCode::kSystemChanged) ||
                      HasCode(gap.error, ErrorCode::kClusterChanged);
  if (records_progress() && kafka_.progress() && !disturbed && !exempt &&
      !kafka_.progress()->held) {
    context_.oracle.Fail("I13 gaps",
                         fmt::format("gap {} is held, and the record does not say so", gap.id));
  }
}

// The operator starts the relay with source.on_gap = "hold" for as long as it takes to accept it.
void Simulation::AcceptRecordedGap(ErrorCode code) {
  const auto& decided = kafka_.decided();
  const bool publication = code == ErrorCode::kPublicationChanged;
  if (decided && (decided->held || (publication && decided->seen_publication))) {
    KeepRelaysDown(milliseconds(100));
    Progress record = *kafka_.decided();
    record.held.reset();
    if (publication) {
      record.seen_publication.reset();
    }
    ++record.generation;
    kafka_.AppendProgress(record);
  }
}

// An operator who accepts a gap knows its range, and publishes the missing events by other means.
// Half of the operators create the slot first: then the relay detects another gap.
void Simulation::SettleGap(RelayProcess& process, const Gap& gap) {
  const ErrorCode code = CodeOf(gap.error);
  gap_possible_ = gap_possible_ || process.dropped_slot();
  CheckJustified(code);
  const auto number = static_cast<size_t>(process.number());
  last_accepted_[number] = code;
  accepted_system_[number] = accepted_system_[number] || code == ErrorCode::kSystemChanged;
  const bool shown = !process.asleep();  // the status of a suspended process is old
  if (code == ErrorCode::kClusterChanged && settled_in_[number] == kafka_.changes() && shown) {
    context_.oracle.Fail("I13 gaps", "another cluster is reported again after it was accepted");
  }
  if (process.dropped_last_slot() && code == ErrorCode::kSlotGone) {
    context_.oracle.Fail("I13 gaps", "a relay does not report that it dropped the slot itself");
  }
  if (code == ErrorCode::kServerBehind) {
    forgotten_until_[number] = std::max(gap.from, gap.to);
  }
  if (code == ErrorCode::kPublicationChanged) {
    // Positions of a server that was restored meanwhile may be earlier than the relay's.
    context_.oracle.ExcuseHidden(postgres_.restores() > 0 ? Lsn() : gap.from, gap.to);
  } else {
    if (postgres_.power() == SimPostgres::Power::kUp && context_.random.Chance(50)) {
      MendSlot(code);
    }
    if (AcceptanceIsRecorded(number)) {
      context_.oracle.Excuse(kafka_.decided()->frontier);  // of an earlier gap
    }
    accepted_[number] = code;
    accepted_under_[number] = kafka_.generation();
    // The address may lead elsewhere by now.
    const std::string named = fmt::format("cluster id {},", ClusterName(kafka_.cluster()));
    accepted_in_[number] = MessageOf(gap.error).starts_with(named) ? kafka_.changes() : -1;
  }
  context_.Note("[operator] accepts gap {}: {}", gap.id, RangeOf(gap));
  process.AcceptGap(gap);
  if (!process.source().streaming()) {  // the status of a suspended process is old
    process.source().OnGapAccepted(code != ErrorCode::kPublicationChanged);
  }
}

void Simulation::MendSlot(ErrorCode code) {
  const auto& slot = postgres_.slot();
  const bool held = postgres_.sender() != nullptr;
  if (!slot || slot->lost || (code == ErrorCode::kPublicationSkipped && !held) ||
      slot->confirmed > postgres_.log().flushed()) {
    context_.Note("[operator] recreates the slot");
    postgres_.MakeSlot();
  }
  context_.oracle.Excuse(postgres_.slot()->confirmed);
  explained_until_ = context_.now();
}

// A relay cannot know what happened to the slot if it has not streamed before, or if it attributes
// the change to another instance. The record of its progress shows both.
void Simulation::OnStreaming(size_t number, bool knows_its_past,
                             const std::optional<Progress>& record) {
  const auto accepted = std::exchange(accepted_[number], std::nullopt);
  forgotten_until_[number] = Lsn();
  if (accepted || AcceptanceIsRecorded(1 - number)) {
    explained_until_ = context_.now();
    context_.oracle.Excuse(postgres_.slot()->confirmed);
    context_.oracle.AllowRepeats();
  }
  // Another gap that is shown later says that the acceptance was not applied.
  if (accepted == ErrorCode::kClusterChanged && last_accepted_[number] == accepted) {
    settled_in_[number] = accepted_in_[number];
  }
  // The earlier state of a publication is unknown before the first read, and on another system.
  const bool recorded =
      record && record->seen_publication && processes_[number]->source().knew_publication();
  const bool knows_publication = recorded || (knows_its_past && !scenario_.second_relay);
  const bool other_system = std::exchange(accepted_system_[number], false);
  if (!knows_publication || other_system) {
    context_.oracle.ExcuseAllHidden();
  }
  if (!knows_its_past || scenario_.second_relay) {
    for (const auto& [from, to] : postgres_.unlogged_periods()) {
      context_.oracle.ExcuseHidden(from, to);
    }
  }
  const MonoTime tampered = postgres_.tampered_at();
  const bool knows_slot = record || (knows_its_past && !scenario_.second_relay);
  if (tampered > explained_until_ && !knows_slot) {
    explained_until_ = tampered;
    context_.oracle.Excuse(postgres_.slot()->confirmed);
  }
}

// The operator resolves blocking rows: they go to the dead-letter topic or are skipped.
void Simulation::SettleFlawedRows() {
  if (scenario_.flaws == 0 || config_.on_error.null_key != OnError::kStop) {
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
  context_.oracle.AllowSkippingTooLarge();
  if (skip) {
    context_.oracle.AllowSkipping();
  }
  for (const auto& process : processes_) {
    if (process) {
      process->Terminate();
    }
  }
}

// --- the end ---

bool Simulation::CaughtUp() const {
  return context_.oracle.Complete() && postgres_.slot() &&
         postgres_.power() == SimPostgres::Power::kUp &&
         postgres_.slot()->confirmed == postgres_.sendable_end();
}

void Simulation::AwaitQuiet() {
  SettleFlawedRows();
  // Only the next transaction shows that another one is missing.
  for (const Micros delay : {Micros(0), Micros(seconds(100))}) {
    context_.After(delay, [this] {
      if ((Rewritten() || postgres_.restores() > 0) &&
          postgres_.power() == SimPostgres::Power::kUp) {
        const Lsn lost_end = std::max(rewritten_until_, postgres_.restored_from());
        if (postgres_.log().end() < lost_end) {
          postgres_.WriteUntil(lost_end);
        }
        workload_.CommitOne();
      }
    });
  }
  const MonoTime deadline = context_.now() + kRecovery;
  while (!context_.oracle.failed() && !CaughtUp() && context_.now() < deadline) {
    RunUntil(context_.now() + milliseconds(500));
  }
  if (context_.oracle.failed() || CaughtUp()) {
    return;
  }
  if (!context_.oracle.Complete()) {
    context_.oracle.Fail("I1 no loss",
                         fmt::format("events {} are not in Kafka", context_.oracle.Missing()));
  }
  context_.oracle.Fail("I10 progress", "the slot is not confirmed up to the end of the WAL");
}

// One unavailable partition must not lead to a new producer, unless a transaction exceeds its
// timeout.
void Simulation::CheckProducers() {
  const bool only_stuck =
      !exactly_once() && scenario_.config.source.max_retained_wal == 0 &&
      !scenario_.faults.empty() &&
      std::all_of(scenario_.faults.begin(), scenario_.faults.end(),
                  [](const Fault& fault) { return fault.kind == FaultKind::kStuckPartition; });
  if (!context_.oracle.failed() && only_stuck && lives_[0] == 0 && processes_[0] &&
      processes_[0]->use().made > 1) {
    context_.oracle.Fail(
        "I15 appends",
        "a new producer was created although brokers respond and no producer failed");
  }
}

// Every relay is asked to stop and must exit in time; the next process must have nothing to repeat.
void Simulation::EndInGoodOrder() {
  if (context_.oracle.failed() || scenario_.seed % 2 == 0) {
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
  if (!context_.oracle.failed() && asked != nullptr && lives_[0] == life) {
    context_.oracle.Fail("I10 progress", "a relay that was asked to stop has not exited");
  }
  AwaitQuiet();
}

}  // namespace walrelay::sim
