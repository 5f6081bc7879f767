#include "daemon/supervisor.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "config/changed_options.h"
#include "postgres/source_identity.h"
#include "walrelay/config.h"
#include "walrelay/error.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

using ChangeOutcome = PipelineChange::Outcome;

// As the service manager's RestartSec, and growing: a database that refuses every login must not be
// asked for one every other second.
constexpr Micros kFirstRestart = std::chrono::seconds(2);
constexpr Micros kLongestRestart = std::chrono::seconds(60);
// A pipeline that ran for so long starts the series of delays again.
constexpr Micros kStable = std::chrono::minutes(1);

// The same configuration would end in the same way, or an operator must decide. A missing slot or
// table may be created while the process runs.
bool IsFinal(const absl::Status& error) {
  const Reaction reaction = ReactionTo(error);
  return CodeOf(error) == ErrorCode::kPipelineIsolated || reaction == Reaction::kGap ||
         reaction == Reaction::kConfiguration || reaction == Reaction::kUsage;
}

// A handover is about a slot: another one has another position.
bool SameSlot(const Config& before, const Config& after) {
  return before.source.slot == after.source.slot;
}

}  // namespace

Supervisor::Supervisor(Parts parts) : parts_(std::move(parts)) {}

std::vector<PipelineChange> Supervisor::Apply(std::vector<PipelineSpec> specs) {
  std::vector<PipelineChange> changes;
  if (stopping_) {
    return changes;
  }
  std::set<std::string> names;
  for (PipelineSpec& spec : specs) {
    const std::string name = spec.name;
    WR_CHECK(names.insert(name).second, "the names of pipelines differ");
    auto [entry, is_new] = entries_.try_emplace(
        name, Entry{.backoff = {kFirstRestart, kLongestRestart, parts_.seed + entries_made_}});
    entries_made_ += is_new ? 1 : 0;
    changes.push_back(ApplyTo(entry->second, std::move(spec)));
  }
  for (auto& [name, entry] : entries_) {
    if (!names.contains(name) && !entry.removed) {
      // As in ApplyTo(): it may drain already.
      if (entry.running != nullptr && !entry.next) {
        entry.running->RequestStop();
      }
      entry.removed = true;
      entry.next.reset();
      entry.start_at.reset();
      changes.push_back({.name = name, .outcome = ChangeOutcome::kRemoved});
    }
  }
  applied_ = true;
  Turn();
  return changes;
}

// A pipeline that was just asked to drain is not asked again: a second request would stop it at
// once.
PipelineChange Supervisor::ApplyTo(Entry& entry, PipelineSpec spec) {
  PipelineChange change{.name = spec.name};
  const bool drains = entry.next.has_value() || entry.removed;
  const bool returns = std::exchange(entry.removed, false);
  if (!spec.config.ok()) {
    change.outcome = ChangeOutcome::kInvalid;
    change.error = spec.config.status();
    if (returns) {
      entry.next = entry.config;  // the present configuration, after the drain
    }
    // Without a valid configuration there is nothing to continue with.
    if (entry.running == nullptr) {
      OnFailed(spec.name, entry, change.error);
    }
    return change;
  }
  if (entry.running == nullptr) {
    change.outcome = ChangeOutcome::kStarted;
    if (entry.config && !SameSlot(*entry.config, *spec.config)) {
      entry.handover.reset();
    }
    entry.next = *std::move(spec.config);
    entry.start_at = parts_.clock.Now();
    if (!applied_) {
      Recall(spec.name, entry);
    }
    return change;
  }
  change.options = ChangedOptions(*entry.config, *spec.config);
  if (change.options.empty() && !drains) {
    return change;
  }
  change.outcome = ChangeOutcome::kReplaced;
  entry.next = *std::move(spec.config);
  if (!drains) {
    entry.running->RequestStop();
  }
  return change;
}

void Supervisor::Adopt(Entry& entry) {
  entry.config = std::exchange(entry.next, std::nullopt);
  entry.board = std::make_shared<StatusBoard>(entry.config->metrics.slot_poll_interval);
  entry.identity = IdentityOf(entry.config->source);
  entry.metrics = MetricsOf(entry.identity);
}

PipelineFailure* Supervisor::FindFailure(const PipelineIdentity& pipeline) {
  const auto found =
      std::find_if(parts_.failures.begin(), parts_.failures.end(),
                   [&](const PipelineFailure& each) { return each.pipeline == pipeline; });
  return found != parts_.failures.end() ? &*found : nullptr;
}

void Supervisor::Recall(const std::string& name, Entry& entry) {
  const PipelineFailure* const failure = FindFailure(IdentityOf(entry.next->source));
  if (failure == nullptr) {
    return;
  }
  Adopt(entry);
  entry.metrics->internal_errors->Increment(static_cast<double>(failure->times));
  if (failure->isolated || failure->is_latest) {
    const absl::Status error =
        Error(failure->isolated ? ErrorCode::kPipelineIsolated : ErrorCode::kPipelineAborted,
              failure->what);
    entry.board->NoteError(error, parts_.clock.WallNow());
    OnFailed(name, entry, error);
  }
}

void Supervisor::Start(const std::string& name, Entry& entry) {
  WR_CHECK(entry.running == nullptr && !stopping_, "one run of a pipeline follows another");
  entry.start_at.reset();
  if (entry.next) {
    Adopt(entry);
  }
  WR_CHECK(entry.config.has_value() && entry.board != nullptr, "a pipeline has a configuration");
  // A failure in this function is reported as one of the pipeline.
  const LogScope scope(entry.identity);
  if (PipelineFailure* const failure = FindFailure(entry.identity);
      failure != nullptr && std::exchange(failure->isolated, false)) {
    parts_.release(entry.identity);
  }
  entry.metrics->isolated->Set(0);
  auto running = parts_.start({.name = name,
                               .config = std::make_shared<const Config>(*entry.config),
                               .identity = entry.identity,
                               .board = entry.board,
                               .metrics = entry.metrics,
                               .handover = entry.handover,
                               .on_end = parts_.wake});
  if (!running.ok()) {
    OnFailed(name, entry, running.status());
    return;
  }
  entry.handover.reset();
  entry.running = *std::move(running);
  entry.started_at = parts_.clock.Now();
}

// The order of the cases: a stop of the process is final, and a successor starts at once.
void Supervisor::OnEnded(const std::string& name, Entry& entry) {
  const LogScope scope(entry.identity);
  const absl::Status result = entry.running->result();
  if (stopping_) {
    result_ = result_.ok() || absl::IsAborted(result) ? result : result_;
  } else if (entry.next) {
    if (SameSlot(*entry.config, *entry.next)) {
      entry.handover = entry.running->handover();
    }
    entry.start_at = parts_.clock.Now();
  } else if (!entry.removed) {
    if (parts_.clock.Now() - entry.started_at >= kStable) {
      entry.backoff.Reset();
    }
    OnFailed(name, entry, result);
  }
  closing_.push_back(std::move(entry.running));
}

void Supervisor::OnFailed(const std::string& name, Entry& entry, const absl::Status& error) {
  WR_CHECK(!error.ok(), "a pipeline that was not asked to stop ends for a reason");
  if (!parts_.restart) {
    result_ = error;
    ended_ = true;
    return;
  }
  if (entry.board == nullptr) {
    entry.board = std::make_shared<StatusBoard>();
    entry.identity = {.source = name, .slot = ""};
    entry.metrics = MetricsOf(entry.identity);
  }
  const LogScope scope(entry.identity);
  RelayStatus status{
      .state = RelayState::kStopped, .error = error, .since = parts_.clock.WallNow()};
  if (entry.config && !IsFinal(error)) {
    const Micros delay = entry.backoff.Next();
    entry.start_at = parts_.clock.Now() + delay;
    status.waits_for = "its next start";
    LogStatus(LogLevel::kError, "pipeline_failed", error,
              {{"pipeline", name}, {"restart_in_ms", delay.count() / 1000}});
  } else {
    entry.start_at.reset();
    status.waits_for = CodeOf(error) == ErrorCode::kPipelineIsolated
                           ? "a reload"
                           : "a change of its configuration and a reload";
    LogStatus(LogLevel::kError, "pipeline_failed", error, {{"pipeline", name}});
  }
  entry.metrics->state.SetOnly(NameOf(RelayState::kStopped));
  for (auto* gauge :
       {&entry.metrics->ready, &entry.metrics->leader, &entry.metrics->replication_connected}) {
    (*gauge)->Set(0);
  }
  entry.metrics->isolated->Set(CodeOf(error) == ErrorCode::kPipelineIsolated ? 1 : 0);
  entry.board->Publish(std::move(status));
}

std::shared_ptr<Metrics> Supervisor::MetricsOf(const PipelineIdentity& identity) {
  std::erase_if(metrics_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<Metrics>& known = metrics_[identity];
  std::shared_ptr<Metrics> metrics = known.lock();
  if (metrics == nullptr) {
    known = metrics = std::make_shared<Metrics>(parts_.registry, identity);
  }
  return metrics;
}

// A pipeline that has ended is kept until its clients are closed, so that the end of the process
// can wait for them.
void Supervisor::Turn() {
  for (auto& [name, entry] : entries_) {
    if (entry.running != nullptr && entry.running->ended()) {
      OnEnded(name, entry);
    }
    if (entry.start_at && *entry.start_at <= parts_.clock.Now()) {
      Start(name, entry);
    }
  }
  std::erase_if(entries_, [](const auto& entry) {
    return entry.second.removed && entry.second.running == nullptr;
  });
  std::erase_if(closing_, [](const auto& ended) { return ended->WaitForClients(Micros(0)); });
  Publish();
}

std::optional<MonoTime> Supervisor::next_start() const {
  std::optional<MonoTime> next;
  for (const auto& [name, entry] : entries_) {
    if (entry.start_at && (!next || *entry.start_at < *next)) {
      next = entry.start_at;
    }
  }
  return next;
}

// As in ApplyTo(): what drains for a change is not asked again, unless this is a second call.
void Supervisor::RequestStop() {
  const bool again = std::exchange(stopping_, true);
  for (auto& [name, entry] : entries_) {
    const bool drains = entry.next.has_value() || entry.removed;
    entry.next.reset();
    entry.start_at.reset();
    if (entry.running != nullptr && (again || !drains)) {
      entry.running->RequestStop();
    }
  }
}

bool Supervisor::finished() const {
  const bool running = std::any_of(entries_.begin(), entries_.end(), [](const auto& entry) {
    return entry.second.running != nullptr;
  });
  return (stopping_ || ended_) && !running;
}

Micros Supervisor::drain_timeout() const {
  Micros longest{0};
  for (const auto& [name, entry] : entries_) {
    longest = std::max(longest, entry.config ? entry.config->pipeline.drain_timeout : Micros(0));
  }
  return longest;
}

bool Supervisor::WaitForClients(Micros timeout) {
  WR_CHECK(finished(), "what runs has clients");
  const MonoTime deadline = parts_.clock.Now() + timeout;
  bool closed = true;
  for (const auto& ended : closing_) {
    const Micros left = std::max<Micros>(deadline - parts_.clock.Now(), Micros(0));
    closed = ended->WaitForClients(left) && closed;
  }
  return closed;
}

void Supervisor::Publish() {
  std::vector<ListedPipeline> pipelines;
  for (const auto& [name, entry] : entries_) {
    if (entry.board != nullptr) {
      pipelines.push_back(
          {.name = name,
           .identity = {.version = std::string(Version()),
                        .pipeline = entry.identity,
                        .publication = entry.config ? entry.config->source.publication : "",
                        .name = name,
                        .mode = entry.config ? entry.config->pipeline.mode : PipelineMode::kSlot},
           .board = entry.board,
           .running = entry.running != nullptr});
    }
  }
  parts_.list.Set(std::move(pipelines));
}

}  // namespace walrelay
