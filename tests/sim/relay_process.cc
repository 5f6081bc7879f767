#include "relay_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mutant.h"
#include "outbox.h"
#include "status/status_report.h"
#include "stream/record_cadence.h"
#include "stream/start_position.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kTurnsAtOnce = 500;
// Between two checks of the cluster, and until the next turn.
constexpr Micros kClusterUnnoticed = milliseconds(200);

// The mutant with an unbounded window differs only in its configuration.
Config ConfigOf(const RelayProcess::Parts& parts) {
  Config config = parts.config;
  if (Mutant(MutantId::kUnboundedWindow)) {
    config.pipeline.max_in_flight_records = config.pipeline.max_in_flight_bytes = int64_t{1} << 40;
  }
  return config;
}

Router MakeRouter(const Config& config) {
  return *Router::Create(config.source, config.route);
}

}  // namespace

RelayProcess::Pipeline::Pipeline(RelayProcess& process, std::optional<SourceMemory> memory)
    : config(ConfigOf(process.parts_)),
      board(config.metrics.slot_poll_interval),
      snapshots(process.context_, process.parts_.postgres, process.parts_.network),
      progress(process.context_, process.parts_.kafka, process.parts_.network, process,
               process.source_) {
  relay = std::make_unique<Relay>(
      Relay::Parts{
          .config = config,
          .clock = process.context_.clock,
          .source = process.source_,
          .make_sink = [&process](const SinkRequest& request) { return process.MakeSink(request); },
          .metrics = process.parts_.metrics,
          .board = board,
          .observer = {},
          .seed = process.context_.random.Next(),
          .snapshots = config.source.wait_visible ? &snapshots : nullptr,
          .progress = &progress,
          .routing = RoutingOf(config),
          .memory = std::move(memory)},
      MakeRouter(config));
}

RelayProcess::RelayProcess(const Parts& parts)
    : parts_(parts),
      context_(parts.context),
      limits_(parts.config.pipeline),
      source_(parts.context, parts.postgres, parts.network, *this) {
  pipeline_ = std::make_unique<Pipeline>(*this, std::nullopt);
  wakeup_.at = context_.now();
  use_.last_report = context_.now();
  context_.oracle.OnMemoryLost();
  context_.Note("[relay {}] process started", number());
}

absl::StatusOr<std::unique_ptr<Sink>> RelayProcess::MakeSink(const SinkRequest& request) {
  if (parts_.network.kafka_secret_unreadable) {
    return Error(ErrorCode::kSecretFile, "kafka.password: mode 0644");
  }
  RelayHost& host = *this;
  producer_ = std::make_shared<SimProducer>(context_, parts_.kafka, host, use_, limits_,
                                            parts_.producer, request.max_batch_bytes);
  context_.Note("[relay {}] creates a producer, batch size {} bytes", number(),
                request.max_batch_bytes);
  if (exactly_once() == request.transactional_id.empty()) {
    context_.oracle.Fail("EO6 fencing", "a producer with the wrong kind of delivery");
  }
  has_claimed_ = false;
  if (exactly_once()) {
    // An instance that does not get the slot must not fence the one that works.
    if (!source_.streaming()) {
      context_.oracle.Fail("EO6 fencing", "a relay claims the id before it has the slot");
    }
    producer_->UseTransactions(request.transactional_id,
                               pipeline_->config.kafka.transaction_timeout);
  }
  return std::make_unique<SinkHandle>(producer_);
}

void RelayProcess::OnClaimed(const std::optional<Progress>& record) {
  context_.coverage.Count("a record is read behind a claim");
  has_claimed_ = true;
  source_.OnClaimed(record);
}

void RelayProcess::AcceptGap(const Gap& gap) {
  accepted_gap_ = gap.id;
  accepted_gaps_.insert(gap.id);
  if (HasCode(gap.error, ErrorCode::kClusterChanged)) {
    cluster_.reset();
    cluster_accepted_ = true;
  }
}

// A record that was written in this cluster shows that publishing here was decided, if only by
// another instance. Behind an acceptance the address may lead back before the first event.
void RelayProcess::OnProgressRead() {
  const int written_in = parts_.kafka.progress_written_in();
  const bool by_a_relay = !parts_.kafka.progress()->run_id.empty();
  if (!cluster_accepted_ && (written_in == parts_.kafka.cluster() || (!cluster_ && by_a_relay))) {
    cluster_ = written_in;
  }
}

void RelayProcess::OnEventProduced(int event) {
  CheckCluster();
  source_.OnEventProduced(event);
}

void RelayProcess::CheckCluster() {
  const auto& seen = producer_->cluster();
  if (!seen) {
    return;
  }
  cluster_ = cluster_.value_or(seen->number);
  cluster_accepted_ = false;
  if (seen->number != *cluster_ && context_.now() - seen->since > kClusterUnnoticed) {
    context_.oracle.Fail("I13 gaps",
                         "a relay publishes in another Kafka cluster than before, which no "
                         "operator has accepted");
  }
}

std::optional<MonoTime> RelayProcess::NextTurn() const {
  if (asleep_ || in_turn_) {
    return std::nullopt;
  }
  if (successor_at_) {
    return std::max(*successor_at_, context_.now());
  }
  const bool attention = killed_ || (to_stop() && !drains_since_) || shutdown_noticed_ ||
                         limit_noticed_ || publication_noticed_ || xids_ || accepted_gap_ ||
                         (wakeup_.producer_readable && producer_ && producer_->readable());
  if (attention) {
    return context_.now();
  }
  MonoTime next = wakeup_.at;
  if (wakeup_.source_readable) {
    next = std::min(next, source_.ReadableAt().value_or(next));
  }
  next = std::min(next, pipeline_->snapshots.ReadableAt().value_or(next));
  return std::max(next, context_.now());
}

void RelayProcess::RunTurn() {
  if (killed_) {
    return;
  }
  if (successor_at_) {
    StartSuccessor();
    return;
  }
  in_turn_ = true;
  TakeSignals();
  wakeup_ = pipeline_->relay->Turn();
  in_turn_ = false;
  if (killed_) {
    return;
  }
  CheckIdling();
  CheckReports();
  CheckConfirming();
  CheckDraining();
  NoteStatus();
  if (pipeline_->relay->finished() && pause_ && !terminate_) {
    OnReplaced();
  }
}

// --- a change of the configuration ---

void RelayProcess::Replace(Micros pause) {
  if (to_stop()) {
    return;
  }
  pause_ = pause;
  if (in_turn_) {
    context_.coverage.Count("replaced while connecting");
  }
}

// How the pipeline stands when it is asked to drain.
void RelayProcess::NoteReplacement() const {
  const RelayStatus seen = status();
  const auto count = [this](bool reached, std::string_view what) {
    if (reached) {
      context_.coverage.Count(what, "replaced ");
    }
  };
  count(seen.gap.has_value(), "while a gap is held");
  count(use_.records_in_flight > 0, "with records in flight");
  count(has_streamed_ && !source_.streaming() && !seen.gap, "while disconnected");
  count(!has_run_, "before the first stream");
  count(is_successor_ && state_ != RelayState::kStreaming, "while a successor starts");
  count(seen.state == RelayState::kStandby, "in standby");
}

// As Supervisor::OnEnded() does. An acceptance that was not applied is lost: the operator is told
// that the gap is still held.
void RelayProcess::OnReplaced() {
  context_.Note("[relay {}] pipeline ends: {}", number(),
                result().ok() ? "drained" : MessageOf(result()));
  if (result().ok()) {
    CheckDrained();
  }
  const RelayStatus last = status();
  if (last.gap && last.gap->id != last_accepted_) {
    inherited_gap_ = last.gap->id;
    inherited_generation_ = source_.record_read() ? source_.record_read()->generation : 0;
  }
  memory_ = pipeline_->relay->memory();
  if (Mutant(MutantId::kForgetSource)) {
    memory_.reset();
  }
  is_successor_ = true;
  successor_at_ = context_.now() + *pause_;
}

// Requests and reports to the predecessor ended with its event loop.
void RelayProcess::StartSuccessor() {
  successor_at_.reset();
  pause_.reset();
  drains_since_.reset();
  drained_link_.reset();
  shutdown_noticed_ = limit_noticed_ = publication_noticed_ = loss_noticed_ = false;
  xids_.reset();
  accepted_gap_.reset();
  last_accepted_.clear();
  unconfirmed_event_.reset();
  unconfirmed_position_.reset();
  up_to_date_since_.reset();  // its sampler has a memory of its own
  state_.reset();
  source_.OnReplaced(/*acknowledged=*/use_.abandoned == 0 && !use_.failed);
  use_.failed = false;
  use_.abandoned = 0;
  pipeline_.reset();
  producer_.reset();
  pipeline_ = std::make_unique<Pipeline>(*this, std::exchange(memory_, std::nullopt));
  wakeup_ = {.at = context_.now()};
  context_.Note("[relay {}] successor started", number());
}

void RelayProcess::CheckDrained() const {
  if (ended_too_soon()) {
    context_.oracle.Fail("I7 repetitions",
                         "a relay exited before records in flight were acknowledged");
  }
  // With two relays, the other one may still have rows that it read before.
  if (ended_clean() && !has_rivals()) {
    context_.coverage.Count(pause_ ? "clean replacement" : "clean end");
    // Without an acknowledged record, what was published is not confirmed.
    context_.oracle.OnCleanEnd(records_progress()
                                   ? std::min(source_.handled_end(), source_.confirmed())
                                   : source_.handled_end());
  }
}

// --- signals and notifications ---

void RelayProcess::TakeSignals() {
  Relay& relay = *pipeline_->relay;
  if (to_stop() && !drains_since_) {
    context_.Note("[relay {}] {}", number(), terminate_ ? "SIGTERM" : "is to be replaced");
    drains_since_ = context_.now();
    drained_link_ = source_.link();
    if (!terminate_) {
      NoteReplacement();
      if (Mutant(MutantId::kReplaceAtOnce)) {
        pipeline_->config.pipeline.drain_timeout = Micros(0);
      }
    }
    relay.Drain();
  }
  if (std::exchange(shutdown_noticed_, false)) {
    relay.OnServerShuttingDown();
  }
  if (std::exchange(limit_noticed_, false)) {
    relay.OnRetainedLimit();
  }
  if (std::exchange(loss_noticed_, false)) {
    relay.OnSlotAlmostLost();
  }
  if (std::exchange(publication_noticed_, false)) {
    if (source_.streaming() && source_.started_at() <= context_.now() &&
        parts_.postgres.publication_changes() > source_.stream_changes()) {
      source_.ForbidConfirming();
    }
    relay.OnPublicationSeen(parts_.postgres.ReadPublicationState(), context_.now());
  }
  if (const auto xids = std::exchange(xids_, std::nullopt)) {
    relay.OnXidsRead(xids->first, xids->second);
  }
  if (accepted_gap_) {
    last_accepted_ = *std::exchange(accepted_gap_, std::nullopt);
    inherited_gap_.reset();
    relay.AcceptGap(last_accepted_);
  }
}

void RelayProcess::OnSlotSampled(SlotSample sample) {
  StatusBoard& board = pipeline_->board;
  const RelayFigures figures = board.Read().figures;
  const Lsn received = figures.backend_pid != 0 ? figures.received : Lsn();
  pipeline_->slot_watch.Add(context_.now(), sample, {figures.backend_pid, received});
  board.SetSlot(sample, context_.clock.WallNow());
}

void RelayProcess::OnPublicationChecked(const SourceInfo& info) {
  const auto problems = PublicationProblems(info, pipeline_->config.source.publication);
  pipeline_->board.SetSourceProblem(problems.empty() ? absl::OkStatus() : problems.front(),
                                    context_.clock.WallNow());
}

// A process that is suspended answers no one. Only a later transaction shows that the server was
// restored, and a standby server does not know how much WAL the primary has.
void RelayProcess::CheckTruth() {
  const bool in_doubt =
      source_.was_restored() || source_.awaits_last() || parts_.postgres.in_recovery();
  if (asleep_ || in_turn_ || between_pipelines() || in_doubt || !SaysUpToDate()) {
    up_to_date_since_.reset();
    return;
  }
  up_to_date_since_ = up_to_date_since_.value_or(context_.now());
  const auto hides_since = parts_.postgres.hides_since();
  if (hides_since && context_.now() - std::max(*hides_since, *up_to_date_since_) > seconds(30)) {
    context_.oracle.Fail("I21 truth", "a relay says that it is up to date while rows are hidden");
  }
  context_.oracle.CheckTruth(*up_to_date_since_);
}

bool RelayProcess::SaysUpToDate() const {
  const StatusReport report{.identity = {},
                            .now = context_.clock.WallNow(),
                            .snapshot = pipeline_->board.Snapshot(),
                            .record_failure = {}};
  return IsReady(report.snapshot) && HealthOf(report) == HealthLevel::kGood &&
         OldestOf(report).value == "none";
}

bool RelayProcess::Pass(Micros time, bool interruptible) {
  const auto stop = [this, interruptible] {
    return killed_ || (interruptible && to_stop() && !drains_since_);
  };
  for (Micros left = time; !stop() && !context_.oracle.failed();) {
    waits_until_ = context_.now() + left;
    parts_.environment.PassUntil(*waits_until_, stop);
    waits_until_.reset();
    if (std::exchange(held_up_, false)) {
      SetAwakeSince(context_.now());
    }
    if (!asleep_) {
      break;
    }
    left = milliseconds(50);
  }
  return !stop() && !context_.oracle.failed();
}

void RelayProcess::OnStreaming() {
  const auto& record = source_.record_read();
  // A successor reads the topic again, which may have lost the record since.
  const bool lost = is_successor_ && source_.record_was_lost();
  if (record && record->held && !lost && !accepted_gaps_.contains(record->held->id)) {
    context_.oracle.Fail("I13 gaps", fmt::format("a relay streams although it has read in the "
                                                 "record that gap {} is held",
                                                 record->held->id));
  }
  // The gap was accepted elsewhere.
  if (record && record->generation > inherited_generation_) {
    inherited_gap_.reset();
  }
  if (inherited_gap_) {
    context_.oracle.Fail("I13 gaps",
                         fmt::format("gap {} was held before the pipeline was replaced, and its "
                                     "successor streams although it was not accepted",
                                     *inherited_gap_));
  }
  const bool knows_its_past = std::exchange(has_streamed_, true);
  parts_.environment.OnStreaming(static_cast<size_t>(parts_.number), knows_its_past,
                                 records_progress() ? source_.record_seen() : std::nullopt);
  unconfirmed_event_.reset();
  unconfirmed_position_.reset();
}

void RelayProcess::HoldUpUntil(MonoTime time) {
  if (waits_until_ && *waits_until_ < time) {
    held_up_ = true;
    SetAwakeSince(MonoTime::max());
  }
}

void RelayProcess::SetAwakeSince(MonoTime time) {
  if (source_.sender() != nullptr) {
    source_.sender()->SetClientAwakeSince(time);
  }
}

void RelayProcess::StandStill() {
  asleep_ = true;
  SetAwakeSince(MonoTime::max());
}

void RelayProcess::GoOn() {
  asleep_ = false;
  slept_until_ = context_.now();
  unconfirmed_event_.reset();
  unconfirmed_position_.reset();
  SetAwakeSince(context_.now());
  if (producer_) {
    producer_->OnAwake();
  }
}

bool RelayProcess::PastLimit(uint64_t retained_bytes) const {
  const SourceConfig& source = pipeline_->config.source;
  return source.on_retained_limit == OnRetainedLimit::kDropSlot &&
         retained_bytes >= static_cast<uint64_t>(source.max_retained_wal);
}

bool RelayProcess::ended_clean() const {
  return asked_to_stop() && source_.finished_in_order() &&
         source_.finished_at() >= *drains_since_ && use_.abandoned == 0;
}

bool RelayProcess::ended_too_soon() const {
  const bool in_time = asked_to_stop() && context_.now() - *drains_since_ < limits_.drain_timeout;
  // Without a stream nothing can be confirmed, even if the relay closed the stream itself: before
  // the signal, or after it because of a gap, or to replace a client that hangs.
  if (!drained_link_ || status().gap || use_.hung) {
    return false;
  }
  // A transaction whose record is refused is aborted, and its stream with it.
  const bool undisturbed = !drained_link_->disturbed_since(*drains_since_) &&
                           !drained_link_->ended() && !disturbed() && !use_.failed &&
                           !use_.progress_failing && !(producer_ && producer_->outdated());
  return in_time && (use_.abandoned > 0 || use_.progress_abandoned) &&
         (source_.finished_in_order() || undisturbed);
}

// Detects a loop that does not sleep.
void RelayProcess::CheckIdling() {
  turns_at_once_ = context_.now() == last_turn_ ? turns_at_once_ + 1 : 0;
  last_turn_ = context_.now();
  if (turns_at_once_ > kTurnsAtOnce) {
    context_.oracle.Fail("I11 liveness", "the loop spins without sleeping");
  }
}

// Reports may wait for the turn of the next row, but only briefly, and not if the relay waits for
// nothing else.
void RelayProcess::CheckReports() {
  if (wakeup_.producer_readable || pipeline_->relay->finished()) {
    return;
  }
  context_.coverage.Count("reports wait for the next row");
  const Micros wait = wakeup_.at - context_.now();
  const Micros longest = std::max<Micros>(limits_.linger, milliseconds(1));
  if (wait > (wakeup_.source_readable ? milliseconds(10) : longest)) {
    context_.oracle.Fail("I11 liveness",
                         fmt::format("reports do not wake the relay for {} us", wait.count()));
  }
}

// Acknowledged events must be confirmed soon, so that a crash repeats few of them; WAL of other
// tables need not where it takes a record.
void RelayProcess::CheckConfirming() {
  const bool confirms = source_.streaming() && use_.records_in_flight == 0 && !ProgressIsHeld() &&
                        !source_.was_restored();
  const Micros soon = limits_.confirm_interval + milliseconds(300);
  CheckConfirmed(confirms ? source_.events_handled() : Lsn(), soon, unconfirmed_event_);
  CheckConfirmed(confirms ? source_.handled_again() : Lsn(),
                 records_progress() ? soon + RecordCadence::kPositionInterval : soon,
                 unconfirmed_position_);
}

void RelayProcess::CheckConfirmed(Lsn acknowledged, Micros within,
                                  std::optional<Unconfirmed>& unconfirmed) {
  if (acknowledged <= source_.confirmed()) {
    unconfirmed.reset();
    return;
  }
  if (!unconfirmed || unconfirmed->position <= source_.confirmed()) {
    unconfirmed = {acknowledged, context_.now()};
  }
  if (context_.now() - unconfirmed->since > within) {
    context_.oracle.Fail(
        "I10 progress",
        fmt::format("everything up to {} is acknowledged, but only {} is confirmed",
                    unconfirmed->position.ToString(), source_.confirmed().ToString()));
  }
}

// Whether Kafka has yet to accept or to acknowledge what is published.
bool RelayProcess::ProgressIsHeld() const {
  const bool in_transaction =
      producer_ && producer_->transactions() != nullptr && !producer_->transactions()->idle();
  return records_progress() &&
         (in_transaction || source_.awaits_last() || source_.is_before_record() ||
          use_.progress_in_flight > 0 || use_.progress_held || !producer_ || !producer_->usable());
}

// A pipeline that is to be replaced must end in time, as a process that is asked to stop must; and
// soon if it has only to record what is published.
void RelayProcess::CheckDraining() {
  if (!drains_since_ || pipeline_->relay->finished()) {
    drains_for_nothing_since_.reset();
    return;
  }
  const MonoTime now = context_.now();
  if (now - std::max(*drains_since_, slept_until_) > limits_.drain_timeout + seconds(5)) {
    context_.oracle.Fail("I10 progress", "a pipeline that was asked to stop has not ended");
  }
  const bool waits = !source_.streaming() || source_.in_transaction() ||
                     use_.records_in_flight > 0 || ProgressIsHeld() || source_.was_restored();
  if (waits) {
    drains_for_nothing_since_.reset();
    return;
  }
  drains_for_nothing_since_ = drains_for_nothing_since_.value_or(now);
  if (now - std::max(*drains_for_nothing_since_, slept_until_) > seconds(1)) {
    context_.oracle.Fail("I10 progress", "a pipeline that was asked to stop waits for nothing");
  }
}

void RelayProcess::FailIdleProducer() {
  if (producer_ != nullptr && !asleep_) {
    producer_->FailWhileIdle();
  }
}

void RelayProcess::OnClusterChanged() {
  if (producer_ != nullptr) {
    producer_->OnClusterChanged();
  }
}

void RelayProcess::WedgeClient() {
  if (producer_ != nullptr && !asleep_) {
    producer_->Wedge();
  }
}

void RelayProcess::LookUpAgain(const std::string& topic) {
  if (producer_ != nullptr) {
    producer_->LookUpAgain(topic);
  }
}

// A status that reports a blocking row must name the row.
void RelayProcess::CheckNaming(const RelayStatus& status) {
  if (status.state != RelayState::kBlocked || status.error.ok()) {
    return;
  }
  const auto number = static_cast<unsigned>(CodeOf(status.error));
  const bool of_a_row =
      (number >= 3001 && number <= 3008) || (number >= 4003 && number <= 4005) || number == 4030;
  if (of_a_row && status.detail.find("lsn=") == std::string::npos) {
    context_.oracle.Fail("I16 naming", fmt::format("{} does not name the blocking row",
                                                   ToString(CodeOf(status.error))));
  }
}

// The status board lags a little.
void RelayProcess::CheckHolding(const RelayStatus& status) {
  if (!status.gap || status.gap->id == last_accepted_) {
    return;
  }
  const uint64_t generation = source_.record_read() ? source_.record_read()->generation : 0;
  if (std::exchange(held_gap_, status.gap->id) != status.gap->id) {
    held_under_ = generation;
  }
  if (generation > held_under_) {
    context_.coverage.Count("a gap is released by the record");
    return;
  }
  context_.coverage.Count(ToString(CodeOf(status.gap->error)), "held ");
  if (inherited_gap_ && !between_pipelines()) {
    context_.coverage.Count("a successor holds the gap of its predecessor");
  }
  if (source_.streaming() || use_.records_in_flight > 0) {
    context_.oracle.Fail("I13 gaps", "a relay streams or publishes while it holds at a gap");
  }
}

void RelayProcess::NoteStatus() {
  const RelayStatus status = this->status();
  CheckNaming(status);
  CheckHolding(status);
  // A first start may end behind the beginning of its stream, where it makes its producer.
  has_run_ = has_run_ || (has_streamed_ && !pipeline_->relay->finished()) ||
             status.state == RelayState::kStandby;
  if (!status.error.ok() && shown_ != CodeOf(status.error)) {
    shown_ = CodeOf(status.error);
    context_.coverage.Count(ToString(shown_), "shown ");
  }
  if (state_ == status.state) {
    return;
  }
  context_.coverage.Count(NameOf(status.state), "state ");
  if (state_) {
    context_.coverage.Count(
        fmt::format("transition {} -> {}", NameOf(*state_), NameOf(status.state)));
  }
  state_ = status.state;
  context_.Note("[relay {}] is {}{}{}", number(), NameOf(status.state),
                status.error.ok() ? "" : ": ", status.error.ok() ? "" : MessageOf(status.error));
}

}  // namespace walrelay::sim
