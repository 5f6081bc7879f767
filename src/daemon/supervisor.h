// Supervisor: starts, stops, restarts and replaces the pipelines of this process.
//
// A pipeline that fails does not affect the others. Where the process serves several pipelines, a
// pipeline that ends with an error is started again after a delay, as a service manager would do
// with a process; except after an error that a restart cannot fix (an invalid configuration, a gap
// with source.on_gap = "exit"): then it waits for the next change of the configuration.
//
// A changed configuration replaces a pipeline: the running one drains, and its successor continues
// with what it knew of the source, so that a gap is noticed across the change.
//
// A pipeline that ended the worker process starts some seconds after the others, so that they are
// not interrupted again at once; one that is isolated does not start before the next reload.
//
// Single-threaded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/pipeline_list.h"
#include "base/backoff.h"
#include "daemon/failure_history.h"
#include "daemon/pipeline_spec.h"
#include "daemon/running_pipeline.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"

namespace walrelay {

// The outcome for one pipeline when a configuration was applied.
struct PipelineChange {
  enum class Outcome { kUnchanged, kStarted, kReplaced, kRemoved, kInvalid };

  std::string name;
  Outcome outcome = Outcome::kUnchanged;
  absl::Status error;                // of kInvalid
  std::vector<std::string> options;  // of kReplaced: the options that differ
};

class Supervisor {
 public:
  struct Parts {
    const Clock& clock;
    PipelineStarter start;
    PipelineList& list;
    MetricsRegistry& registry;
    // Called on a pipeline's thread when it has ended: makes the owner call Turn().
    std::function<void()> wake;
    uint64_t seed = 0;  // for the jitter of the delays
    // False: the process ends with its only pipeline.
    bool restart = false;
    // The pipelines that have ended earlier worker processes. The first Apply() heeds them.
    std::vector<PipelineFailure> failures = {};
    // An isolated pipeline is started again, because an operator asked for it.
    std::function<void(const PipelineIdentity&)> release = {};
  };

  // The references must outlive it.
  explicit Supervisor(Parts parts);
  // Stops what still runs at once, and confirms nothing.
  ~Supervisor() = default;

  // Makes the pipelines those of `specs`, which have different names: starts new ones, replaces
  // changed ones, stops the others. A running pipeline whose new configuration is invalid keeps the
  // present one. A pipeline that has ended is started again. Ignored after RequestStop().
  std::vector<PipelineChange> Apply(std::vector<PipelineSpec> specs);

  // Starts what is due, and takes note of what has ended. Call it when `wake` was called, and at
  // next_start().
  void Turn();
  // When the next pipeline is due to start; nullopt if none is.
  std::optional<MonoTime> next_start() const;

  // The first call drains all pipelines, a further one stops them at once.
  void RequestStop();
  // Nothing runs, and nothing will be started.
  bool finished() const;
  // Why the process ends: the error of the pipeline that ended it, kAborted if one was stopped at
  // once. REQUIRES: finished().
  const absl::Status& result() const { return result_; }

  // The longest drain_timeout of the pipelines.
  Micros drain_timeout() const;
  // Waits until the Kafka clients of all pipelines are closed. False: the threads of some still
  // run after `timeout`. REQUIRES: finished().
  bool WaitForClients(Micros timeout);

 private:
  struct Entry {
    std::optional<Config> config;  // of the present or the last run; nullopt: none was valid
    PipelineIdentity identity;     // of `config`, or made from the name
    std::shared_ptr<StatusBoard> board;
    // Also while it does not run: an alert needs the series of what is down.
    std::shared_ptr<Metrics> metrics;
    std::unique_ptr<RunningPipeline> running;
    MonoTime started_at;                       // of `running`
    std::optional<Config> next;                // starts when `running` has ended
    std::shared_ptr<const Handover> handover;  // of the last run, for the next one
    std::optional<MonoTime> start_at;          // when it is due to start
    bool removed = false;                      // no longer configured: erased when it has ended
    Backoff backoff;
  };

  PipelineChange ApplyTo(Entry& entry, PipelineSpec spec);
  // Makes `entry.next` the present configuration, with what shows it.
  void Adopt(Entry& entry);
  // Heeds what is known of earlier worker processes: the pipeline may start later, or not at all.
  void Recall(const std::string& name, Entry& entry);
  PipelineFailure* FindFailure(const PipelineIdentity& pipeline);
  // Starts the entry's configuration now. After an error the entry does not run.
  void Start(const std::string& name, Entry& entry);
  // `entry.running` has ended.
  void OnEnded(const std::string& name, Entry& entry);
  // The pipeline does not run because of `error`; it is started again, unless that is useless.
  void OnFailed(const std::string& name, Entry& entry, const absl::Status& error);
  // The metrics of an identity: those of an earlier run if they still exist, because series of the
  // same labels are the same.
  std::shared_ptr<Metrics> MetricsOf(const PipelineIdentity& identity);
  // Updates the list for the pages.
  void Publish();

  Parts parts_;
  std::map<std::string, Entry> entries_;                   // by name
  std::vector<std::unique_ptr<RunningPipeline>> closing_;  // ended; some clients are not closed yet
  std::map<PipelineIdentity, std::weak_ptr<Metrics>> metrics_;
  bool applied_ = false;  // Apply() was called
  bool stopping_ = false;
  bool ended_ = false;  // the only pipeline has ended
  absl::Status result_;
  uint64_t entries_made_ = 0;  // each has another jitter
};

}  // namespace walrelay
