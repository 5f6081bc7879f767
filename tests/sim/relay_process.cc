#include "relay_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mutant.h"
#include "walrelay/error.h"

namespace walrelay::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kTurnsAtOnce = 500;

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

RelayProcess::RelayProcess(const Parts& parts)
    : parts_(parts),
      context_(parts.context),
      limits_(parts.config.pipeline),
      config_(ConfigOf(parts)),
      source_(parts.context, parts.postgres, parts.network, *this),
      snapshots_(parts.context, parts.postgres, parts.network) {
  relay_ = std::make_unique<Relay>(
      Relay::Parts{.config = config_,
                   .clock = context_.clock,
                   .source = source_,
                   .make_producer = [this](int64_t bytes) { return MakeProducer(bytes); },
                   .metrics = parts.metrics,
                   .board = board_,
                   .observer = {},
                   .seed = context_.random.Next(),
                   .snapshots = config_.source.wait_visible ? &snapshots_ : nullptr},
      MakeRouter(config_));
  wakeup_.at = context_.now();
  use_.last_report = context_.now();
  context_.Note("[relay {}] process started", number());
}

absl::StatusOr<std::unique_ptr<Producer>> RelayProcess::MakeProducer(int64_t batch_bytes) {
  if (parts_.network.kafka_secret_unreadable) {
    return Error(ErrorCode::kSecretFile, "kafka.password: mode 0644");
  }
  RelayHost& host = *this;
  producer_ = std::make_shared<SimProducer>(context_, parts_.kafka, host, use_, limits_,
                                            parts_.producer, batch_bytes);
  context_.Note("[relay {}] creates a producer, batch size {} bytes", number(), batch_bytes);
  return std::make_unique<ProducerHandle>(producer_);
}

std::optional<MonoTime> RelayProcess::NextTurn() const {
  if (asleep_ || in_turn_) {
    return std::nullopt;
  }
  const bool attention = killed_ || (terminate_ && !terminated_at_) || shutdown_noticed_ ||
                         limit_noticed_ || publication_noticed_ || accepted_gap_ ||
                         (producer_ && producer_->readable());
  if (attention) {
    return context_.now();
  }
  MonoTime next = wakeup_.at;
  if (wakeup_.source_readable) {
    next = std::min(next, source_.ReadableAt().value_or(next));
  }
  next = std::min(next, snapshots_.ReadableAt().value_or(next));
  return std::max(next, context_.now());
}

void RelayProcess::RunTurn() {
  if (killed_) {
    return;
  }
  in_turn_ = true;
  TakeSignals();
  wakeup_ = relay_->Turn();
  in_turn_ = false;
  if (!killed_) {
    CheckIdling();
    CheckConfirming();
    NoteStatus();
  }
}

void RelayProcess::TakeSignals() {
  if (terminate_ && !terminated_at_) {
    context_.Note("[relay {}] SIGTERM", number());
    terminated_at_ = context_.now();
    drained_link_ = source_.link();
    relay_->Drain();
  }
  if (std::exchange(shutdown_noticed_, false)) {
    relay_->OnServerShuttingDown();
  }
  if (std::exchange(limit_noticed_, false)) {
    relay_->OnRetainedLimit();
  }
  if (std::exchange(loss_noticed_, false)) {
    relay_->OnSlotAlmostLost();
  }
  if (std::exchange(publication_noticed_, false)) {
    if (source_.streaming() && source_.started_at() <= context_.now() &&
        parts_.postgres.publication_changes() > source_.stream_changes()) {
      source_.ForbidConfirming();
    }
    relay_->OnPublicationSeen(parts_.postgres.ReadPublicationState(), context_.now());
  }
  if (accepted_gap_) {
    last_accepted_ = *std::exchange(accepted_gap_, std::nullopt);
    relay_->AcceptGap(last_accepted_);
  }
}

bool RelayProcess::Pass(Micros time, bool interruptible) {
  const auto stop = [this, interruptible] {
    return killed_ || (interruptible && terminate_ && !terminated_at_);
  };
  for (Micros left = time; !stop() && !context_.oracle.failed();) {
    parts_.environment.PassUntil(context_.now() + left, stop);
    if (!asleep_) {
      break;
    }
    left = milliseconds(50);
  }
  return !stop() && !context_.oracle.failed();
}

void RelayProcess::OnStreaming(MonoTime looked_at) {
  const bool knows_its_past = std::exchange(has_streamed_, true);
  parts_.environment.OnStreaming(static_cast<size_t>(parts_.number), knows_its_past, looked_at);
  unconfirmed_since_.reset();
}

void RelayProcess::StandStill() {
  asleep_ = true;
  if (source_.sender() != nullptr) {
    source_.sender()->SetClientAwakeSince(MonoTime::max());
  }
}

void RelayProcess::GoOn() {
  asleep_ = false;
  slept_until_ = context_.now();
  unconfirmed_since_.reset();
  if (source_.sender() != nullptr) {
    source_.sender()->SetClientAwakeSince(context_.now());
  }
  if (producer_) {
    producer_->OnAwake();
  }
}

bool RelayProcess::PastLimit(uint64_t retained_bytes) const {
  const SourceConfig& source = config_.source;
  return source.on_retained_limit == OnRetainedLimit::kDropSlot &&
         retained_bytes >= static_cast<uint64_t>(source.max_retained_wal);
}

bool RelayProcess::ended_clean() const {
  return asked_to_stop() && source_.finished_in_order() && use_.abandoned == 0;
}

bool RelayProcess::ended_too_soon() const {
  const bool in_time =
      asked_to_stop() && context_.now() - *terminated_at_ < config_.pipeline.drain_timeout;
  // Without a stream nothing can be confirmed, even if the relay closed the stream itself: before
  // the signal, or after it because of a gap.
  if (!drained_link_ || status().gap) {
    return false;
  }
  const bool undisturbed = !drained_link_->disturbed_since(*terminated_at_) &&
                           !drained_link_->ended() && !disturbed() && !use_.failed &&
                           !(producer_ && producer_->Outdated());
  return in_time && use_.abandoned > 0 && (source_.finished_in_order() || undisturbed);
}

// Detects a loop that does not sleep.
void RelayProcess::CheckIdling() {
  turns_at_once_ = context_.now() == last_turn_ ? turns_at_once_ + 1 : 0;
  last_turn_ = context_.now();
  if (turns_at_once_ > kTurnsAtOnce) {
    context_.oracle.Fail("I11 liveness", "the loop spins without sleeping");
  }
}

// Acknowledged events must be confirmed soon, so that a crash repeats few of them.
void RelayProcess::CheckConfirming() {
  const bool late = source_.streaming() && use_.records_in_flight == 0 &&
                    source_.handled_end() > source_.confirmed();
  if (!late) {
    unconfirmed_since_.reset();
    return;
  }
  unconfirmed_since_ = unconfirmed_since_.value_or(context_.now());
  if (context_.now() - *unconfirmed_since_ >
      config_.pipeline.confirm_interval + milliseconds(300)) {
    context_.oracle.Fail(
        "I10 progress",
        fmt::format("everything up to {} is acknowledged, but only {} is confirmed",
                    source_.handled_end().ToString(), source_.confirmed().ToString()));
  }
}

void RelayProcess::FailIdleProducer() {
  if (producer_ != nullptr && !asleep_) {
    producer_->FailWhileIdle();
  }
}

// A status that reports a blocking row must name the row.
void RelayProcess::CheckNaming(const RelayStatus& status) {
  if (status.state != RelayState::kBlocked || status.error.ok()) {
    return;
  }
  const auto number = static_cast<unsigned>(CodeOf(status.error));
  const bool of_a_row = (number >= 3001 && number <= 3008) || (number >= 4003 && number <= 4005);
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
  context_.coverage.Count(ToString(CodeOf(status.gap->error)), "held ");
  if (source_.streaming() || use_.records_in_flight > 0) {
    context_.oracle.Fail("I13 gaps", "a relay streams or publishes while it holds at a gap");
  }
}

void RelayProcess::NoteStatus() {
  const RelayStatus status = board_.Read();
  CheckNaming(status);
  CheckHolding(status);
  has_run_ = has_run_ || has_streamed_ || status.state == RelayState::kStandby;
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
