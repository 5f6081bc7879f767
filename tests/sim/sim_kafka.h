// SimKafka: the brokers.
//
// A partition accepts batches in the order of their producer's sequence numbers, as a real broker
// does with an idempotent producer: it acknowledges a duplicate batch without appending it, and
// rejects an out-of-order batch. Requests and responses can be lost or slow, and requests can be
// rejected; a partition can be without a leader; a topic can be missing or denied. The address can
// lead to another cluster, with the same topics and other records.
//
// Source: Kafka, ProducerStateManager and ProducerAppendInfo (checkSequence); KIP-98.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "context.h"
#include "sim_coordinator.h"
#include "sim_partition.h"
#include "walrelay/progress.h"

namespace walrelay::sim {

// As brokers name it.
inline std::string ClusterName(int cluster) {
  return cluster == 0 ? "first" : "second";
}

struct Batch {
  uint64_t producer = 0;
  uint32_t first_sequence = 0;
  std::vector<int> events;
  std::vector<std::optional<PositionHeader>> positions;  // of the events
  std::vector<std::string> progress;  // values of progress records, which are no events
  size_t bytes = 0;
  WallTime latest;               // of its records
  bool checked = true;           // by sequence
  bool oldest = true;            // of those that are not acknowledged
  int connection = 0;            // SimKafka::changes() when it was sent
  std::string transactional_id;  // "": visible at once
  uint32_t epoch = 0;
};

enum class Answer : uint8_t {
  kAppended,  // or a duplicate
  kTryAgain,  // no leader, or out of order
  kTooLarge,
  kRefused,
  kTimeRefused,
  kDenied,
  kFenced,  // the producer's state is lost, its epoch is old, or its transaction is not open
};

struct SimTopic {
  bool exists = true;
  bool denied = false;
  size_t most_bytes = SIZE_MAX;  // max.message.bytes, of a batch
  int partitions = 1;
  MonoTime changed;  // when producers learn of the number of partitions
};

class SimKafka {
 public:
  static const TopicPartition kProgressPartition;
  // message.timestamp.after.max.ms
  static constexpr Micros kMostAhead = std::chrono::hours(1);

  explicit SimKafka(Context& context);

  Answer Append(std::string_view topic, int partition, const Batch& batch);
  SimTopic& topic(std::string_view name);
  std::vector<std::string> topics() const;
  uint64_t NewProducer() { return ++producers_; }
  // The version of the progress record with the greatest Order(); nullopt: the topic has none.
  const std::optional<Progress>& progress() const { return here().progress; }
  // A version that was appended. An operator appends one without a producer.
  void AppendProgress(const Progress& record);
  // The version of a transaction whose commit marker was written.
  void AppendProgress(std::string_view value);

  // --- transactions
  SimCoordinator& coordinator() { return coordinator_; }
  // Likewise, of those whose commit was decided: their markers may be missing.
  const std::optional<Progress>& decided() const { return here().decided; }
  uint64_t generation() const { return decided() ? decided()->generation : 0; }
  void OnProgressDecided(const Progress& record);
  // The records behind an open transaction become visible.
  void ShowHeldProgress();
  // Whether read_committed readers see the end of the progress topic.
  bool ProgressIsStable() const { return !coordinator_.HasOpen(kProgressPartition); }

  // --- the cluster behind the address
  int cluster() const { return cluster_; }
  // How often it was changed.
  int changes() const { return changes_; }
  // From now on the address leads to this cluster. `mirrored`: it has the progress record of the
  // other one, if it has none of its own. Not with transactions.
  void Become(int cluster, bool mirrored);
  // The cluster in which the progress record was written.
  int progress_written_in() const { return here().progress_written_in; }
  // decided() of the other cluster.
  const std::optional<Progress>& decided_elsewhere() const {
    return clusters_[static_cast<size_t>(1 - cluster_)].decided;
  }

  // The current faults.
  bool down = false;      // no broker responds
  int credentials = 0;    // the valid version; requests with earlier ones are lost
  int leaderless = -1;    // this partition of every topic
  int refused = 0;        // percentage of batches, rejected as invalid
  bool fencing = false;   // the next batch reaches a broker that has lost the producer's state
  int lost_requests = 0;  // percentage
  int lost_answers = 0;   // percentage
  int to_be_refused = 0;  // number of records, of the next ones, to reject until Forgive()
  Micros latency{1'000};
  Micros latency_most{5'000};
  Micros request_timeout{1'000'000};
  MonoTime disturbed_until;  // by any of these, and shortly afterwards
  MonoTime progress_stable_since;
  void Disturb(Micros length);

  // Whether a record is rejected on every attempt.
  bool IsRefused(int event) const { return refused_events_.contains(event); }
  void Forgive() {
    to_be_refused = 0;
    refused_events_.clear();
  }

  // Retention is shorter than the backlog: what is appended is deleted at once.
  bool deletes_records = false;
  // cleanup.policy of the progress topic.
  bool deletes_progress = false;
  void DeleteRecords();
  // decided() stays until the next record, which need not replace it.
  void DeleteProgress();
  // How often the record was lost, or became that of another cluster.
  int record_losses() const { return changes_ + deletions_; }

  // Of each partition. shows_settings: whether min.insync.replicas can be read.
  static constexpr int kReplicas = 3;
  static constexpr int kMinInSync = 2;
  bool shows_settings = true;
  int most_in_sync = kReplicas;

  const SimPartition& partition(std::string_view topic, int number) {
    return PartitionOf(topic, number);
  }
  int in_sync(std::string_view topic, int number) {
    return partition(topic, number).replicated ? 1 : most_in_sync;
  }
  // Until GrowReplicas(), only the leader of this partition of each topic is in sync: what it
  // appends can be read, but is not acknowledged.
  void ShrinkReplicas(int number);
  // `lost`: another leader takes over, which does not have these records.
  void GrowReplicas(int number, bool lost);
  void ChangePartitions(std::string_view topic);
  // Another producer appends records without a position to a partition, or a copy of a record with
  // its headers to other partitions. False: there is nothing to copy.
  bool AppendForeign(uint64_t choice);

  // With acks=1 a leader acknowledges records that its followers do not have yet: used by a mutant.
  void LoseTail(int partition);

 private:
  struct Cluster {
    std::map<std::pair<std::string, int>, SimPartition> partitions;
    std::optional<Progress> progress;
    int progress_written_in = 0;
    std::optional<Progress> decided;
    bool record_deleted = false;
    std::vector<Progress> held_progress;  // behind an open transaction
  };
  Cluster& here() { return clusters_[static_cast<size_t>(cluster_)]; }
  const Cluster& here() const { return clusters_[static_cast<size_t>(cluster_)]; }
  void Show(const Progress& record);
  // Whether the producer's sequence numbers are of the other cluster.
  bool IsStranger(const Batch& batch) const { return batch.producer <= strangers_; }
  Answer Verdict(const SimTopic& settings, const Batch& batch);
  void LoseFrom(SimPartition& partition, int64_t offset);
  SimPartition& PartitionOf(std::string_view topic, int partition);

  Context& context_;
  std::map<std::string, SimTopic, std::less<>> topics_;
  std::array<Cluster, 2> clusters_;
  int cluster_ = 0;
  int changes_ = 0;
  int deletions_ = 0;
  std::set<int> refused_events_;
  uint64_t producers_ = 0;
  uint64_t strangers_ = 0;  // the last producer before the cluster changed
  SimCoordinator coordinator_;
};

}  // namespace walrelay::sim
