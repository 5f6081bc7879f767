// Simulation: one history, from its scenario to the verdict.
//
// Owns the servers and the relay processes, advances time, and plays the environment of the relay:
// the supervisor that restarts it, and the operator who resolves gaps and blocking rows.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "context.h"
#include "metrics/metrics.h"
#include "relay_process.h"
#include "scenario.h"
#include "sim_kafka.h"
#include "sim_postgres.h"
#include "stream/published_xids.h"
#include "walrelay/config.h"
#include "walrelay/error.h"
#include "workload.h"

namespace walrelay::sim {

class Simulation final : private Environment {
 public:
  // All must outlive the simulation.
  Simulation(const Scenario& scenario, Coverage& coverage, Metrics& metrics, bool trace);

  // Runs the scenario, the recovery after it and a clean stop. Returns the violation, or an empty
  // string.
  const std::string& Run();

  uint64_t digest() const { return context_.oracle.digest(); }
  uint64_t repeats() const { return context_.oracle.repeats(); }
  size_t events() const { return context_.oracle.event_count(); }

 private:
  // Environment
  void PassUntil(MonoTime time, const std::function<bool()>& stop) override;
  void OnStreaming(size_t number, bool knows_its_past,
                   const std::optional<Progress>& record) override;
  bool has_rivals() const override { return scenario_.second_relay; }
  Lsn stored_position() const override { return stored_position_; }
  void StorePosition(Lsn p) override { stored_position_ = std::max(stored_position_, p); }

  // --- the loop ---
  void RunUntil(MonoTime time) {
    PassUntil(time, [] { return false; });
  }
  bool Step(MonoTime until);
  void RunProcess(RelayProcess& process);

  // --- supervisor and operator (simulation.cc) ---
  void StartProcess(size_t number);
  void StartLater(size_t number, Micros delay);
  void Reap(size_t number);
  void OnExit(size_t number, const RelayProcess& process);
  // A gap is reported only if something happened that explains it.
  bool HasLostAdoption() const;
  void CheckJustified(ErrorCode code);
  void OnGap(size_t number, ErrorCode code);
  void MendSlot(ErrorCode code);
  void Attend();
  void SettleGap(RelayProcess& process, const Gap& gap);
  void SettleFlawedRows();
  void WatchLimit();
  // It samples the slot and checks the publication, for the relay's surfaces.
  void SampleSlot(RelayProcess& process);
  // The second connection of each relay reads xids.
  void ReadXids(RelayProcess& process);
  // What is proven to be published, by each relay and by the record, may be deleted.
  void CheckProofs();
  void CheckProof(const std::optional<PublishedXids>& proven);
  uint64_t XminOf(const LogTransaction& transaction, const LogRow& row) const;
  bool records_progress() const { return scenario_.config.pipeline.records_progress(); }
  bool exactly_once() const { return scenario_.config.pipeline.exactly_once(); }
  void AdoptSlot();
  void AcceptRecordedGap(ErrorCode code);
  void CheckGapIsRecorded(const RelayProcess& process, const Gap& gap);
  bool AcceptanceIsRecorded(size_t number) const;

  // --- faults (faults.cc) ---
  void ScheduleFaults();
  void Apply(const Fault& fault);
  bool ApplyToProcess(const Fault& fault);
  bool ApplyToNetwork(const Fault& fault);
  bool ApplyToServer(const Fault& fault);
  bool ApplyToHistory(const Fault& fault);
  bool ApplyToSlot(const Fault& fault);
  bool ApplyToPublication(const Fault& fault);
  bool ApplyToVisibility(const Fault& fault);
  bool ApplyToKafka(const Fault& fault);
  void ShortenRetention(const Fault& fault);
  bool ApplyToTopics(const Fault& fault);
  bool ApplyToCluster(const Fault& fault);
  void ChangeCluster(int cluster, bool mirrored);
  bool ApplyUnseen(const Fault& fault);
  bool ApplyToTransactions(const Fault& fault);
  bool ApplyInTransaction(const Fault& fault);
  void KillInPart(MonoTime until, bool other_settings);
  // Whether a database transaction must be published as a whole, unless something interrupts it.
  bool IsAtomic() const;
  void KeepRelaysDown(Micros time);
  bool RestoreUnseen(const Fault& fault);
  // Whether the WAL was rewritten, and no relay has passed by what it had recorded, or has found
  // the gap.
  bool Rewritten();
  // In the WAL of the server; nullptr: it is not there.
  const LogTransaction* Find(const PublishedTransaction& transaction) const;
  void Restart(const Fault& fault);
  void CheckShutdown(int incarnation, int sampler);
  void CheckGivingUp(int incarnation, int sampler);
  bool HolderIsDisturbed() const;
  void FailOver(const Fault& fault, bool with_slot);
  void RestoreServer(const Fault& fault);
  void TerminateUnwatched();
  void ComeBack(Micros delay);
  // A fault takes effect now, and ends like this.
  void Heal(Micros delay, std::function<void()> action);
  size_t Target(const Fault& fault) const;
  Link* CurrentLink() const;

  // --- the end ---
  bool CaughtUp() const;
  void AwaitQuiet();
  void CheckProducers();
  void EndInGoodOrder();
  void CountRepeats();

  const Scenario& scenario_;
  Context context_;
  Network network_;
  SimPostgres postgres_;
  SimKafka kafka_;
  Workload workload_;
  Metrics& metrics_;
  Config config_;  // as currently configured by the operator

  std::array<std::unique_ptr<RelayProcess>, 2> processes_;
  std::array<int, 2> lives_{};
  bool wants_restart_ = true;
  MonoTime explained_until_;   // tampering up to then is accounted for
  bool gap_possible_ = false;  // a fault occurred that justifies a reported gap
  // Since the last stream, an operator has accepted that the server is another one.
  std::array<bool, 2> accepted_system_{};
  // The end of a gap of a restored server, until the next stream.
  std::array<Lsn, 2> forgotten_until_{};
  // A gap of the slot or the server was accepted, and the relay has not streamed yet.
  std::array<std::optional<ErrorCode>, 2> accepted_{};
  std::array<std::optional<ErrorCode>, 2> last_accepted_{};
  std::array<uint64_t, 2> accepted_under_{};  // the generation of the record at that time
  // SimKafka::changes() at that time, and when another cluster was accepted last.
  std::array<int, 2> accepted_in_{};
  std::array<std::optional<int>, 2> settled_in_{};
  Lsn stored_position_;
  MonoTime kept_down_until_;  // no relay runs until then
  Lsn rewritten_until_;       // the frontier that was recorded on the WAL that was rewritten
  std::optional<uint64_t> rewritten_generation_;  // of that record
  Random readings_;                               // of xids
  uint64_t looks_ = 0;                            // of the second connections
  uint64_t steps_ = 0;
};

}  // namespace walrelay::sim
