// SimProducer: librdkafka as the relay configures it: idempotent, gapless, without a timeout.
//
// Each partition has a queue and a few batches in flight. A batch that got no response or a
// retriable error is sent again, unchanged and in order, when nothing else is in flight. A batch
// that is rejected permanently fails the whole producer. A destroyed producer drops its state;
// batches that are already on the wire still arrive.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "context.h"
#include "relay_host.h"
#include "sim_kafka.h"
#include "sim_tails.h"
#include "sim_transactions.h"
#include "walrelay/config.h"
#include "walrelay/sink.h"

namespace walrelay::sim {

// Shared by all producers of one relay process.
struct ProducerUse {
  size_t records_in_flight = 0;
  size_t bytes_in_flight = 0;
  MonoTime last_report;
  std::set<int> too_large;  // events that were refused for their size
  int made = 0;
  int histories = 0;     // within one, a producer gets an event once, unless records were rejected
  bool failed = false;   // one of them failed permanently
  size_t abandoned = 0;  // in flight when the last producer was destroyed
  bool hung = false;     // that producer answered nothing any more
  // Progress records are not counted above.
  size_t progress_in_flight = 0;
  bool progress_abandoned = false;
  bool progress_failing = false;  // the last report of one is a failure
  bool progress_held = false;     // the last one was not accepted, or failed
};

struct ProducerOptions {
  size_t queue_limit = 100'000;
  size_t batch_records = 10;
  size_t batches_under_way = 3;
};

class SimProducer final : public std::enable_shared_from_this<SimProducer> {
 public:
  SimProducer(Context& context, SimKafka& kafka, RelayHost& host, ProducerUse& use,
              const PipelineConfig& limits, const ProducerOptions& options, int64_t batch_bytes);

  // --- see Sink and its optional interfaces

  absl::StatusOr<Offered> Produce(const Record& record, DeliveryToken token);
  void SkipStored(const WalHistory& history);
  std::optional<Transactions::Claim> TakeClaim();
  void Commit();
  void Poll(DeliveryListener& listener);
  absl::Status FatalError() const;
  SinkHealth health() const;
  bool outdated() const { return credentials_ != kafka_.credentials; }
  std::string ClusterId() const { return cluster_ ? ClusterName(cluster_->number) : ""; }
  void Examine();
  std::optional<Examination> TakeExamination();
  void AbandonUndelivered();

  // The cluster that has answered last, and since when that is known.
  struct KnownCluster {
    int number = 0;
    MonoTime since;
  };
  const std::optional<KnownCluster>& cluster() const { return cluster_; }
  // The connections have broken: the brokers' first answer shows which cluster they are of.
  void OnClusterChanged();

  // Makes it a transactional producer, which begins to claim its id. Call it at once.
  void UseTransactions(std::string id, Micros timeout);
  // nullptr without transactions.
  SimTransactions* transactions() { return transactions_.get(); }

  // Fails the producer permanently if nothing is in flight.
  void FailWhileIdle();
  // Until it is destroyed, nothing is sent, and answers have no effect.
  void Wedge() { wedged_ = true; }
  // The topic's metadata is looked up again before its next record, as after a refresh.
  void LookUpAgain(const std::string& topic) { topics_[topic].metadata = Metadata::kUnknown; }
  // The owner has destroyed the producer.
  void Abandon();
  bool alive() const { return alive_; }
  bool usable() const { return alive_ && fatal_.ok(); }
  // Whether Poll() has work to do.
  bool readable() const { return alive_ && signalled_; }
  // The process resumes after it was suspended.
  void OnAwake();

  // --- for its transactions
  // Whether each accepted record is acknowledged.
  bool AllAcknowledged() const { return queued_ == withheld_.size(); }
  void SendTo(const TopicPartition& partition);
  // Reports what was withheld. `next`: OK if the producer can be used again.
  void ReportCommitted(const absl::Status& next);
  // Every record of the transaction is reported as failed.
  void FailTransaction(const absl::Status& error);
  // Sends what was withheld again. Used by a mutant.
  void SendAgain();
  void Signal() { signalled_ = true; }
  // Runs `action` after `delay` if the producer still exists then, but not while the process is
  // suspended.
  void Later(Micros delay, std::function<void(SimProducer&)> action);

 private:
  struct Pending {
    int event;  // kNoEvent: a progress record
    DeliveryToken token;
    size_t bytes;
    std::string progress;
    std::optional<PositionHeader> position;
    WallTime time;
  };
  struct Sent {
    Batch batch;
    std::vector<Pending> records;
    bool under_way = false;
    uint32_t attempt = 0;
  };
  struct Lane {
    std::string topic;
    int partition = 0;
    uint32_t next_sequence = 0;
    std::deque<Pending> queue;
    std::deque<Sent> sent;  // in order; not yet acknowledged
    bool resend = false;    // when nothing is in flight
    bool checked = true;    // by sequence; false only in mutants
  };
  struct Reported {
    Pending record;
    std::string topic;
    int partition = 0;
    absl::Status error;
    bool purged = false;
  };
  enum class Metadata { kUnknown, kAsked, kReady, kFailed };
  struct TopicState {
    Metadata metadata = Metadata::kUnknown;
    absl::Status error;
    int partitions = 0;
  };

  // Another client asks whether the brokers could accept the records.
  absl::Status AskBrokers();
  absl::StatusOr<Offered> Accept(const Record& record, DeliveryToken token);
  void EnqueueProgress(const Record& record, DeliveryToken token);
  Offered Ask(const std::string& topic, TopicState& state);
  void AnswerTopic(const std::string& topic, MonoTime asked);
  void LearnCluster();
  // Whether records may be sent to the number of partitions that the topic has.
  bool FollowPartitions(const std::string& topic, TopicState& state);
  Lane& LaneOf(const std::string& topic, int partition);
  void Enqueue(const Record& record, DeliveryToken token, int event, int partition);
  void CheckBounds(size_t record_bytes);
  void OnEnqueued();

  void SendFrom(Lane& lane);
  void Form(Lane& lane);
  void Send(Lane& lane, Sent& sent);
  void OnAnswer(Lane& lane, uint32_t sequence, uint32_t attempt, Answer answer);
  void Retry(Lane& lane);
  void Fail(Lane& lane, const std::vector<Pending>& records, Answer answer);
  void PurgeQueue(Lane& lane, bool also_sent);
  void Report(const Lane& lane, const std::vector<Pending>& records, const absl::Status& error,
              bool purged = false);

  Context& context_;
  SimKafka& kafka_;
  RelayHost& host_;
  ProducerUse& use_;
  const PipelineConfig& limits_;
  const ProducerOptions& options_;
  const size_t batch_bytes_;
  const uint64_t id_;
  const int credentials_;  // the version it was created with
  bool alive_ = true;
  std::optional<KnownCluster> cluster_;
  std::map<std::string, TopicState, std::less<>> topics_;
  std::map<std::pair<std::string, int>, Lane> lanes_;
  std::vector<Reported> reports_;
  std::vector<Reported> withheld_;  // acknowledged, of the transaction
  std::unique_ptr<SimTransactions> transactions_;
  absl::Status spent_;  // why it cannot be used after the reports of the last transaction
  std::vector<std::function<void(SimProducer&)>> missed_;  // while the process was suspended
  size_t queued_ = 0;                                      // accepted, not yet reported
  std::map<int, int> handed_over_;                         // by event: the last history
  std::unique_ptr<SimTails> tails_;                        // with mode = "topics"
  absl::Status fatal_;
  bool signalled_ = false;
  bool wedged_ = false;
  bool examining_ = false;
  std::optional<Examination> examination_;
};

// The object that the relay owns. The SimProducer outlives it until its batches on the wire have
// arrived.
class SinkHandle final : public Sink, public Transactions, public Positions, public Examiner {
 public:
  explicit SinkHandle(std::shared_ptr<SimProducer> producer) : producer_(std::move(producer)) {}
  ~SinkHandle() override { producer_->Abandon(); }

  absl::StatusOr<Offered> Produce(const Record& record, DeliveryToken token) override {
    return producer_->Produce(record, token);
  }
  void SkipStored(const WalHistory& history) override { producer_->SkipStored(history); }
  Transactions* transactions() override {
    return producer_->transactions() != nullptr ? this : nullptr;
  }
  Positions* positions() override { return this; }
  Examiner* examiner() override { return this; }
  std::optional<Claim> TakeClaim() override { return producer_->TakeClaim(); }
  void Commit() override { producer_->Commit(); }
  void Poll(DeliveryListener& listener) override { producer_->Poll(listener); }
  absl::Status FatalError() const override { return producer_->FatalError(); }
  SinkHealth health() const override { return producer_->health(); }
  std::string ClusterId() const override { return producer_->ClusterId(); }
  void AbandonUndelivered() override { producer_->AbandonUndelivered(); }
  std::optional<MonoTime> acknowledged_at() const override { return std::nullopt; }
  Micros request_timeout() const override { return std::chrono::seconds(30); }
  void Examine() override { producer_->Examine(); }
  std::optional<Examination> TakeExamination() override { return producer_->TakeExamination(); }
  int poll_fd() const override { return -1; }

 private:
  std::shared_ptr<SimProducer> producer_;
};

}  // namespace walrelay::sim
