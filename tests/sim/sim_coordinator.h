// SimCoordinator: Kafka transactions on the side of the brokers, for clients of the old protocol
// (transaction.version 0 and 1), as librdkafka is one.
//
// It is the coordinator of every transactional id, and the part of the partitions that depends on
// transactions: records of an open transaction are invisible until its commit marker is written,
// and vanish at an abort marker. EndTxn is answered when the decision is written; the markers
// follow, partition by partition.
//
// Source: Kafka, TransactionCoordinator, TransactionMetadata, TransactionMarkerChannelManager,
// ProducerAppendInfo; KIP-98, KIP-360 (epochs), KIP-890 part 1 (verification).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "context.h"
#include "walrelay/progress.h"

namespace walrelay::sim {

struct Batch;
class SimKafka;

// What the coordinator, or a partition, answers to a request of a transactional producer.
enum class TxnAnswer : uint8_t {
  kOk,
  kConcurrent,    // CONCURRENT_TRANSACTIONS: the markers of the last transaction are not written
  kUnavailable,   // COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
  kFenced,        // INVALID_PRODUCER_EPOCH: another producer has claimed the id
  kInvalidState,  // INVALID_TXN_STATE
};

// A step of a transaction at which a relay can be killed.
enum class TxnStep : uint8_t {
  kInit,       // InitProducerId was sent
  kClaimed,    // the id is claimed, the record is not read
  kAdd,        // AddPartitionsToTxn was sent
  kAppended,   // a record was acknowledged
  kEnd,        // EndTxn was sent
  kDecided,    // EndTxn arrived
  kMarked,     // a marker was written
  kCommitted,  // the answer to EndTxn arrived
  kAccepted,   // Produce() has accepted the first record
  kCount
};

using TopicPartition = std::pair<std::string, int>;

class SimCoordinator {
 public:
  enum class State : uint8_t {
    kEmpty,
    kOngoing,
    kPrepareCommit,
    kPrepareAbort,
    kCompleteCommit,
    kCompleteAbort
  };
  struct Claim {
    TxnAnswer answer{};
    uint32_t epoch = 0;
  };

  SimCoordinator(Context& context, SimKafka& kafka) : context_(context), kafka_(kafka) {}

  // --- requests to the coordinator
  Claim InitProducer(const std::string& id, Micros timeout);
  TxnAnswer AddPartition(const std::string& id, uint32_t epoch, const TopicPartition& partition);
  TxnAnswer End(const std::string& id, uint32_t epoch, bool commit);

  // --- partitions
  // Whether the partition has seen a later epoch of the id than the batch's.
  bool IsStale(const TopicPartition& partition, const Batch& batch) const;
  // Whether the partition is part of the open transaction of the batch's epoch.
  bool Verify(const TopicPartition& partition, const Batch& batch) const;
  void Append(const TopicPartition& partition, const Batch& batch);
  // Whether the id has an open transaction of this epoch.
  bool IsOpen(const std::string& id, uint32_t epoch) const;
  // Whether another producer has claimed the id since.
  bool IsFenced(const std::string& id, uint32_t epoch) const;
  // Whether the last stable offset of the partition is behind its end.
  bool HasOpen(const TopicPartition& partition) const;

  // --- what the judges know
  // The events that must be in the topics when the progress record with this value is committed.
  void Expect(const std::string& progress, std::vector<int> events) {
    expected_[progress] = std::move(events);
  }

  // --- the current faults
  bool down = false;                  // no coordinator responds
  Micros marker_delay{0};             // at most
  bool verifies = true;               // transaction.partition.verification.enable
  bool atomic = false;                // no database transaction is published in part
  void Interrupt(Micros length);      // unless something interrupts it
  int lose_answers = 0;               // of the next requests that end a transaction
  int hold_ends = 0;                  // number of EndTxn requests to keep in the network
  TxnStep kill_at = TxnStep::kCount;  // the relays, when a transaction gets there
  std::function<void()> kill;
  void Reach(TxnStep step);
  // Keeps a request until a transaction begins.
  void Hold(std::function<void()> request);
  // Every open transaction exceeds its timeout.
  void ExpireAll();
  // Another client claims every id that is in use.
  void ClaimAll();

 private:
  struct Transactional {
    State state = State::kEmpty;
    uint32_t epoch = 0;
    bool claimed = false;  // at least once
    Micros timeout{0};
    MonoTime begun;
    uint64_t number = 0;  // of the transaction, for the timers
    std::set<TopicPartition> partitions;
    std::set<TopicPartition> unmarked;
  };
  struct Entry {
    std::string id;
    uint32_t epoch = 0;
    uint64_t producer = 0;
    std::vector<int> events;            // of a batch
    std::vector<std::string> progress;  // likewise
    bool decided = false;               // to be committed
  };
  struct Partition {
    std::map<std::string, uint32_t> epochs;  // by id
    std::deque<Entry> open;
  };

  void Decide(const std::string& id, bool commit);
  void JudgeCommit(const std::string& id, const Transactional& owner);
  void JudgeContent(const std::vector<int>& events, const std::vector<std::string>& progress);
  void WriteMarker(const std::string& id, uint64_t number, const TopicPartition& where,
                   bool commit);
  void Mark(const std::string& id, const TopicPartition& where, uint32_t epoch, bool commit);
  void CheckComplete(const std::string& id);
  void Expire(const std::string& id);
  void ArmScan();

  Context& context_;
  SimKafka& kafka_;
  std::map<std::string, Transactional> ids_;
  std::map<TopicPartition, Partition> partitions_;
  std::map<std::string, std::vector<int>> expected_;  // by the value of a progress record
  std::vector<std::string> completing_;               // committed records, until all markers exist
  std::vector<std::function<void()>> held_;
  bool scans_ = false;
  MonoTime interrupted_until_;
};

}  // namespace walrelay::sim
