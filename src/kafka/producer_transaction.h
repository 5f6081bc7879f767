// ProducerTransaction: what a transactional producer knows about its current transaction.
//
// Acknowledged records are withheld until the transaction is committed. After the first sign of a
// failure all reports are withheld until each record has one, so that the records that name the
// cause are reported first.
//
// librdkafka does not report why a transaction has failed, except to the next transactional call.
// If the records were only dropped, the thread that makes these calls is asked.
//
// Threads: used by the producer's owner.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "kafka/client_health.h"
#include "kafka/reaper.h"
#include "kafka/transaction_thread.h"
#include "kafka/withheld_deliveries.h"
#include "walrelay/clock.h"
#include "walrelay/producer.h"

namespace walrelay {

class ProducerTransaction {
 public:
  // All must outlive it; `reaper` may be nullptr. `details`: of deliveries.
  ProducerTransaction(TransactionThread& thread, ClientHealth& health, Reaper* reaper, bool details)
      : thread_(thread), health_(health), reaper_(reaper), withheld_(details) {}

  // Whether a record may be produced.
  bool open() const { return phase_ == Phase::kOpen && !failing_; }
  // librdkafka accepted a record.
  void OnAccepted() { ++outstanding_; }
  // The client or the transaction has failed, as an event or a refused call shows. Why will follow.
  void NoteFailure();
  // See Producer::Commit().
  void Commit();

  // --- reports, each of a record that was accepted

  void OnDelivered(const Delivery& delivery, MonoTime now);
  // `topic` must outlive the object.
  void OnFailed(const DeliveryFailure& failure, std::string_view topic);

  // Applies what has arrived. Returns true if undelivered records are to be purged.
  bool Turn(DeliverySink& sink, MonoTime now);
  // No more reports are awaited.
  void Abandon() { abandoned_ = true; }

 private:
  enum class Phase { kClaiming, kOpen, kSealed, kCommitting };
  struct Failed {
    DeliveryFailure failure;
    std::string_view topic;
  };

  void Apply(TransactionThread::Results results, DeliverySink& sink, MonoTime now);
  void CommitIfComplete();
  void ExplainIfNeeded();
  void Fail(const absl::Status& error);
  void NameCause();
  void ReportFailures(DeliverySink& sink);

  TransactionThread& thread_;
  ClientHealth& health_;
  Reaper* const reaper_;
  Phase phase_ = Phase::kClaiming;
  size_t outstanding_ = 0;  // records without a report
  WithheldDeliveries withheld_;

  bool failing_ = false;  // a first sign was seen; the cause is health_.fatal(), once it is known
  bool asked_ = false;    // the thread was asked for the cause
  bool purged_ = false;
  bool abandoned_ = false;
  rd_kafka_resp_err_t cause_ = RD_KAFKA_RESP_ERR_NO_ERROR;  // as the thread says
  std::vector<Failed> failed_;
};

}  // namespace walrelay
