// ProducerTransaction: what a transactional producer knows about its current transaction.
//
// Acknowledged records are withheld until the transaction is committed. After the first sign of a
// failure all reports are withheld until each record has one, so that the records that name the
// cause are reported first.
//
// librdkafka does not report why a transaction has failed, except to the next transactional call.
// If the records were only dropped, the thread that makes these calls is asked. It does not know
// which partition was refused: in the first transaction of a producer, the progress record is held
// back until all events are acknowledged, so that the answer is about one or the others. A refusal
// in a later transaction is blamed on neither if it may concern both, and the next producer shows
// what it was.
//
// A sealed transaction waits for brokers only as long as it makes progress: after `commit_limit`
// without an acknowledgement or the end of the commit, the producer has failed. A limit on the
// whole time would make a relay with slow brokers send the same records forever. The owner gives
// the next producer more time, see SinkRequest.
//
// Threads: used by the producer's owner.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sinks/kafka/client/client_health.h"
#include "sinks/kafka/client/reaper.h"
#include "sinks/kafka/producer/transaction_thread.h"
#include "sinks/kafka/producer/withheld_deliveries.h"
#include "walrelay/clock.h"
#include "walrelay/sink.h"

namespace walrelay {

class ProducerTransaction {
 public:
  // All must outlive it; `reaper` may be nullptr. `details`: of deliveries.
  ProducerTransaction(TransactionThread& thread, ClientHealth& health, Reaper* reaper, bool details,
                      Micros commit_limit)
      : thread_(thread),
        health_(health),
        reaper_(reaper),
        commit_limit_(commit_limit),
        withheld_(details) {}

  // Whether a record may be produced.
  bool open() const { return phase_ == Phase::kOpen && !failing_; }
  // librdkafka accepted a record. `topic` must outlive the object.
  void OnAccepted(DeliveryToken token, std::string_view topic);
  // Whether a progress record has to be held back: then call Hold() instead of producing it.
  bool HoldsProgress() const { return !committed_ && outstanding_ > 0; }
  void Hold(std::string_view topic);
  // Whether the record that is held back may be produced now. Until OnAccepted().
  bool ReleasesProgress() const { return held_ && outstanding_ == 0 && !failing_; }
  // It was refused instead.
  void OnHeldRefused(const absl::Status& error, std::string_view topic);
  // The client or the transaction has failed, as an event or a refused call shows. Why will follow.
  void NoteFailure();
  // See Transactions.
  std::optional<Transactions::Claim> TakeClaim() { return std::exchange(claim_, std::nullopt); }
  void Commit(MonoTime now);

  // --- reports, each of a record that was accepted

  void OnDelivered(const Delivery& delivery, MonoTime now);
  // `topic` must outlive the object.
  void OnFailed(const DeliveryFailure& failure, std::string_view topic);

  // Applies what has arrived. Returns true if undelivered records are to be purged.
  bool Turn(DeliveryListener& listener, MonoTime now);
  // No more reports are awaited.
  void Abandon() { abandoned_ = true; }

 private:
  enum class Phase { kClaiming, kOpen, kSealed, kCommitting };
  struct Failed {
    DeliveryFailure failure;
    std::string_view topic;
  };

  void Apply(TransactionThread::Results results, DeliveryListener& listener, MonoTime now);
  void CommitIfComplete(MonoTime now);
  void CheckOverdue(MonoTime now);
  void ExplainIfNeeded();
  void Fail(const absl::Status& error);
  void NameCause();
  void ReportFailures(DeliveryListener& listener);

  TransactionThread& thread_;
  ClientHealth& health_;
  Reaper* const reaper_;
  const Micros commit_limit_;
  Phase phase_ = Phase::kClaiming;
  size_t outstanding_ = 0;   // records without a report
  bool held_ = false;        // the progress record is held back
  std::string_view awaits_;  // its topic, if it is, or is outstanding
  bool committed_ = false;   // a transaction was
  MonoTime moved_{};         // the last progress of a sealed transaction
  WithheldDeliveries withheld_;
  std::optional<Transactions::Claim> claim_;  // until it is taken

  bool failing_ = false;  // a first sign was seen; the cause is health_.fatal(), once it is known
  bool asked_ = false;    // the thread was asked for the cause
  bool purged_ = false;
  bool abandoned_ = false;
  rd_kafka_resp_err_t cause_ = RD_KAFKA_RESP_ERR_NO_ERROR;  // as the thread says
  std::vector<Failed> failed_;
};

}  // namespace walrelay
