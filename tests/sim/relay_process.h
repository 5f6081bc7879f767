// RelayProcess: one walrelay process from start to exit, with a simulated event loop.
//
// It serves one pipeline at a time. After a change of the configuration the pipeline drains, and
// its successor starts with what it knew of the source, as the Supervisor does it. What the process
// has seen and sent stays the standard by which the successor is judged.
//
// Runs the relay's turns when EventLoop would: at the wake-up time, when the socket is readable and
// the relay wants to read, when the producer has reports, and on notifications. Signals are handled
// between turns.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "context.h"
#include "metrics/metrics.h"
#include "relay/relay.h"
#include "relay_host.h"
#include "sim_kafka.h"
#include "sim_postgres.h"
#include "sim_producer.h"
#include "sim_progress_topic.h"
#include "sim_snapshots.h"
#include "sim_source.h"
#include "slot/slot_watch.h"
#include "status/status_board.h"
#include "walrelay/config.h"

namespace walrelay::sim {

// The part of the simulation that a process uses besides the seams.
class Environment {
 public:
  virtual ~Environment() = default;
  // Runs the simulation until `time`, or until `stop` returns true.
  virtual void PassUntil(MonoTime time, const std::function<bool()>& stop) = 0;
  // `record`: from which it knows its past, even if it did not see it; nullopt: none.
  virtual void OnStreaming(size_t number, bool knows_its_past,
                           const std::optional<Progress>& record) = 0;
  virtual bool has_rivals() const = 0;
  virtual Lsn stored_position() const = 0;
  virtual void StorePosition(Lsn position) = 0;
};

class RelayProcess final : private RelayHost {
 public:
  struct Parts {
    Context& context;
    SimPostgres& postgres;
    SimKafka& kafka;
    Network& network;
    Metrics& metrics;
    Environment& environment;
    const Config& config;  // read by each pipeline at its start
    ProducerOptions producer;
    int number = 0;
  };

  explicit RelayProcess(const Parts& parts);

  // When the next turn is due; nullopt while the process is suspended or within a turn.
  std::optional<MonoTime> NextTurn() const;
  void RunTurn();

  // --- signals and notifications ---
  void Kill() { killed_ = true; }
  void Terminate() { terminate_ = true; }
  // The configuration has changed: the successor starts `pause` after the pipeline has ended. Does
  // nothing if the pipeline was asked to stop before.
  void Replace(Micros pause);
  void StandStill();
  void GoOn();
  // Another process blocks until `time` in its own turn, and the simulator continues this one only
  // then. The judge does not count that time as a silence of this relay.
  void HoldUpUntil(MonoTime time);
  void OnServerShuttingDown() { shutdown_noticed_ = true; }
  void OnRetainedLimit() { limit_noticed_ = true; }
  void OnPublicationSeen() { publication_noticed_ = true; }
  // A reading that began at `begun`; a newer one replaces one not yet processed.
  void OnXidsRead(const XidReading& xids, MonoTime begun) { xids_.emplace(xids, begun); }
  // The operator accepts this gap.
  void AcceptGap(const Gap& gap);
  void OnSlotAlmostLost() { loss_noticed_ = true; }
  // The second connection has read the slot or the publication, or has failed to. As SlotSampler
  // and its callbacks do it.
  void OnSlotSampled(SlotSample sample);
  void OnPublicationChecked(const SourceInfo& info);
  void OnSampleFailed(const absl::Status& error) { pipeline_->board.SetSampleFailure(error); }
  // Call it each second: what the status page says must be true.
  void CheckTruth();
  void WedgeClient();
  void OnClusterChanged();
  void FailIdleProducer();
  // See SimProducer::LookUpAgain().
  void LookUpAgain(const std::string& topic);

  bool killed() const override { return killed_; }
  bool asleep() const override { return asleep_; }
  // Whether an operator has accepted a gap that this process held.
  bool has_accepted() const { return !accepted_gaps_.empty(); }
  bool in_turn() const { return in_turn_; }
  bool finished() const { return pipeline_->relay->finished() && (terminate_ || !pause_); }
  // A pipeline has ended, and its successor has not started.
  bool between_pipelines() const { return successor_at_.has_value(); }
  // Of the present pipeline.
  const absl::Status& result() const { return pipeline_->relay->result(); }
  RelayStatus status() const { return pipeline_->board.Read(); }
  bool asked_to_stop() const override { return drains_since_.has_value(); }
  // The pipeline has ended without an error: what a drain must have achieved.
  void CheckDrained() const;
  bool dropped_slot() const { return source_.dropped_slot(); }
  bool dropped_last_slot() const { return source_.dropped_last_slot(); }
  // Whether it has streamed or been in standby.
  bool has_run() const { return has_run_; }
  // Whether it is suspended, or was recently.
  bool disturbed() const {
    return asleep_ || context_.now() - slept_until_ < std::chrono::seconds(5);
  }
  int number() const override { return parts_.number; }
  bool PastLimit(uint64_t retained_bytes) const override;
  // What its pruning may delete, also while the process is suspended: it learns of it later.
  std::optional<PublishedProof> published() const { return pipeline_->board.published(); }
  SimSource& source() { return source_; }
  const ProducerUse& use() const { return use_; }

 private:
  struct Pipeline {
    Pipeline(RelayProcess& process, std::optional<SourceMemory> memory);

    Config config;
    StatusBoard board;
    SlotWatch slot_watch;
    SimSnapshots snapshots;
    SimProgressTopic progress;
    std::unique_ptr<Relay> relay;
  };

  // For the server that waits for its messages; max(): it is not awake.
  void SetAwakeSince(MonoTime time);

  // RelayHost
  bool Pass(Micros time, bool interruptible) override;
  void OnStreaming() override;
  void OnNewHistory() override { ++use_.histories; }
  void OnEventProduced(int event) override;
  void OnProgressProduced(const Progress& record) override { source_.OnProgressProduced(record); }
  bool records_progress() const override { return limits_.records_progress(); }
  const std::optional<Progress>& recorded() const override { return parts_.kafka.progress(); }
  const std::optional<Progress>& decided() const override { return parts_.kafka.decided(); }
  const std::optional<Progress>& decided_elsewhere() const override {
    return parts_.kafka.decided_elsewhere();
  }
  int record_losses() const override { return parts_.kafka.record_losses(); }
  void OnProgressRead() override;
  void OnClaimed(const std::optional<Progress>& record) override;
  bool has_claimed() const override { return has_claimed_; }
  bool exactly_once() const override { return limits_.exactly_once(); }
  bool same_server() const override { return source_.SameServer(); }
  int producers() const override { return use_.made; }
  bool has_producer() const override { return producer_ && producer_->alive(); }
  MonoTime last_report() const override { return use_.last_report; }
  bool has_rivals() const override { return parts_.environment.has_rivals(); }
  Lsn stored_position() const override { return parts_.environment.stored_position(); }
  void StorePosition(Lsn p) override { parts_.environment.StorePosition(p); }

  absl::StatusOr<std::unique_ptr<Sink>> MakeSink(const SinkRequest& request);
  bool to_stop() const { return terminate_ || pause_; }
  // Everything that it handled was confirmed.
  bool ended_clean() const;
  // It ended with records in flight although the drain timeout had not expired.
  bool ended_too_soon() const;
  void OnReplaced();
  void StartSuccessor();
  void NoteReplacement() const;
  void TakeSignals();
  void CheckIdling();
  void CheckReports();
  void CheckConfirming();
  // A position that the relay has yet to confirm, and since when.
  struct Unconfirmed {
    Lsn position;
    MonoTime since;
  };
  void CheckConfirmed(Lsn acknowledged, Micros within, std::optional<Unconfirmed>& unconfirmed);
  bool ProgressIsHeld() const;
  void CheckDraining();
  void NoteStatus();
  void CheckNaming(const RelayStatus& status);
  // Whether every surface says that there is nothing to do: the page, /readyz, and the age.
  bool SaysUpToDate() const;
  void CheckHolding(const RelayStatus& status);
  void CheckCluster();

  const Parts parts_;
  Context& context_;
  const PipelineConfig limits_;
  SimSource source_;
  ProducerUse use_;
  std::shared_ptr<SimProducer> producer_;  // the most recent one
  std::unique_ptr<Pipeline> pipeline_;

  Wakeup wakeup_;
  bool killed_ = false;
  bool terminate_ = false;
  std::optional<Micros> pause_;  // the pipeline is to be replaced: from its end to the next start
  std::optional<MonoTime> successor_at_;
  std::optional<SourceMemory> memory_;  // for the successor
  bool is_successor_ = false;           // the present pipeline, or the next one
  // Held by the predecessor, and not accepted since.
  std::optional<std::string> inherited_gap_;
  uint64_t inherited_generation_ = 0;  // in which it is held
  bool shutdown_noticed_ = false;
  bool limit_noticed_ = false;
  bool publication_noticed_ = false;
  std::optional<std::pair<XidReading, MonoTime>> xids_;  // not passed to the relay yet
  std::optional<std::string> accepted_gap_;              // not passed to the relay yet
  std::set<std::string> accepted_gaps_;                  // by an operator of this process
  std::string held_gap_;                                 // as the status has shown it last
  uint64_t held_under_ = 0;                              // the generation of the record then
  std::string last_accepted_;
  // The Kafka cluster in which it has published, or in which the record was written that it has
  // read; nullopt: none, or an operator has decided that it may be another one now.
  std::optional<int> cluster_;
  bool cluster_accepted_ = false;  // the operator did, and no event was published since
  bool has_run_ = false;
  bool loss_noticed_ = false;
  bool has_claimed_ = false;
  bool asleep_ = false;
  bool in_turn_ = false;
  std::optional<MonoTime> waits_until_;  // within a turn
  bool held_up_ = false;                 // for longer
  bool has_streamed_ = false;
  std::optional<MonoTime> drains_since_;
  std::optional<MonoTime> drains_for_nothing_since_;
  std::shared_ptr<Link> drained_link_;  // the stream at that time

  MonoTime slept_until_;
  MonoTime last_turn_;
  int turns_at_once_ = 0;
  std::optional<Unconfirmed> unconfirmed_event_;
  std::optional<Unconfirmed> unconfirmed_position_;
  std::optional<RelayState> state_;
  ErrorCode shown_{};
  std::optional<MonoTime> up_to_date_since_;  // as the status page says
};

}  // namespace walrelay::sim
