// SimTransactions: the transactional part of a SimProducer, as librdkafka and the relay's producer
// have it.
//
// It claims the transactional id and reads the progress record behind the claim, registers each
// partition before the first batch to it, withholds the reports of acknowledged records until the
// commit, and ends the transaction. A request without an answer is sent again; the first one may
// arrive at any time later, also after the process has died. After any error every record of the
// transaction is reported as failed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "context.h"
#include "sim_coordinator.h"
#include "sim_kafka.h"
#include "walrelay/progress.h"

namespace walrelay::sim {

class SimProducer;

class SimTransactions {
 public:
  // `producer` owns it.
  SimTransactions(Context& context, SimKafka& kafka, SimProducer& producer, std::string id,
                  Micros timeout)
      : context_(context),
        kafka_(kafka),
        producer_(producer),
        id_(std::move(id)),
        timeout_(timeout),
        early_(kafka.progress()) {}

  // Asks for the id until it is claimed.
  void Claim();
  // The record that was read behind the claim, once.
  std::optional<std::optional<Progress>> TakeClaimed();
  // Whether Produce() accepts records.
  bool accepts() const { return phase_ == Phase::kReady; }
  // Neither claiming nor committing, and no transaction is open.
  bool idle() const { return phase_ == Phase::kReady && !open_; }
  // Whether nothing of it can be committed any more.
  bool fenced() const { return kafka_.coordinator().IsFenced(id_, epoch_); }
  void OnAccepted();
  // The producer has refused a progress record. If a transaction is open, the record was to end it.
  void OnRecordRefused();
  // Whether the partition is part of the transaction. If not, it is registered.
  bool MaySendTo(const TopicPartition& partition);
  void Stamp(Batch& batch) const;
  // REQUIRES: a record was accepted since the last commit.
  void Commit();
  void OnAcknowledged();
  // Ends the transaction if Commit() was called and all records are acknowledged. Only the owner's
  // thread can do that, as in librdkafka: the reports have to be taken.
  void EndIfComplete();
  void OnFailed() { phase_ = Phase::kFailed; }

 private:
  enum class Phase { kClaiming, kReading, kReady, kCommitting, kEnding, kPausing, kFailed };
  using Request = std::function<TxnAnswer(SimCoordinator&)>;
  using Done = std::function<void(std::optional<TxnAnswer>)>;  // nullopt: no answer came

  void Send(Request request, Done done, bool ends);
  void ClaimAgain(Micros delay);
  void ReadProgress(MonoTime since);
  void RegisterNext();
  void SendEnd();
  void OnEnded(std::optional<TxnAnswer> answer);
  void OnCommitted();
  void Repeat();
  void CheckAge(uint64_t number, MonoTime due);

  Context& context_;
  SimKafka& kafka_;
  SimProducer& producer_;
  const std::string id_;
  const Micros timeout_;
  const std::optional<Progress> early_;  // the record before the claim: used by a mutant
  Phase phase_ = Phase::kClaiming;
  uint32_t epoch_ = 0;
  uint64_t requests_ = 0;  // number of the last one; the answer to an earlier one is ignored
  std::optional<std::optional<Progress>> claimed_;

  bool open_ = false;  // a record was accepted since the last commit
  uint64_t number_ = 0;
  std::set<TopicPartition> registered_;
  std::set<TopicPartition> wanted_;
  bool registering_ = false;
  int ends_sent_ = 0;
  MonoTime end_sent_at_;
  MonoTime acknowledged_at_;
};

}  // namespace walrelay::sim
