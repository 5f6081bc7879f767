#include "kafka/producer_transaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kafka/delivery_error.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// An error about the topics of a transaction, not about the transaction itself.
bool IsAboutTopics(rd_kafka_resp_err_t code) {
  return code != RD_KAFKA_RESP_ERR_NO_ERROR && !IsPurged(code) &&
         code != RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED &&
         !HasCode(DeliveryError(code, {}, {}), ErrorCode::kProducerFailed);
}

}  // namespace

void ProducerTransaction::Commit() {
  if (phase_ == Phase::kOpen) {
    phase_ = Phase::kSealed;
    CommitIfComplete();
  }
}

// librdkafka would wait for the reports, which the owner's thread has to take.
void ProducerTransaction::CommitIfComplete() {
  if (phase_ == Phase::kSealed && outstanding_ == 0 && !failing_) {
    phase_ = Phase::kCommitting;
    thread_.Commit();
  }
}

void ProducerTransaction::OnDelivered(const Delivery& delivery, MonoTime now) {
  WR_CHECK(outstanding_ > 0, "a report is of a record that was accepted");
  --outstanding_;
  withheld_.Add(delivery, now);
}

// A code that does not concern the record, such as a rejected epoch, is one of the producer: the
// thread knows more about it.
void ProducerTransaction::OnFailed(const DeliveryFailure& failure, std::string_view topic) {
  WR_CHECK(outstanding_ > 0, "a report is of a record that was accepted");
  --outstanding_;
  failing_ = true;
  failed_.push_back({failure, topic});
  if (HasCode(failure.error, ErrorCode::kProducerFailed)) {
    failed_.back().failure.purged = true;
  }
  if (!failed_.back().failure.purged) {
    Fail(Error(ErrorCode::kTransactionAborted,
               "a record was not delivered: " + MessageOf(failure.error)));
  }
}

void ProducerTransaction::NoteFailure() {
  failing_ = true;
  ExplainIfNeeded();
}

// While the thread claims the id or commits, its own result is the explanation.
void ProducerTransaction::ExplainIfNeeded() {
  if (failing_ && health_.fatal().ok() && !asked_ &&
      (phase_ == Phase::kOpen || phase_ == Phase::kSealed)) {
    asked_ = true;
    thread_.Explain();
  }
}

void ProducerTransaction::Fail(const absl::Status& error) {
  failing_ = true;
  health_.Fail(error);
}

bool ProducerTransaction::Turn(DeliverySink& sink, MonoTime now) {
  Apply(thread_.TakeResults(), sink, now);
  CommitIfComplete();
  ExplainIfNeeded();
  failing_ = failing_ || !health_.fatal().ok();
  if (!health_.fatal().ok() && (outstanding_ == 0 || abandoned_)) {
    ReportFailures(sink);
  }
  return failing_ && !std::exchange(purged_, true);
}

void ProducerTransaction::Apply(TransactionThread::Results results, DeliverySink& sink,
                                MonoTime now) {
  health_.ExplainTrouble(results.trouble);
  if (results.claim) {
    phase_ = Phase::kOpen;
    if (reaper_ != nullptr) {
      reaper_->Destroy(std::make_unique<KafkaClient>(std::move(results.claim->reader)));
    }
    health_.OnBrokerAnswered();
    sink.OnClaimed(results.claim->record);
  }
  if (results.commits_sent > 0) {
    health_.OnBrokerAnswered();
    withheld_.Release(sink, now);
  }
  if (results.commits_sent > 1) {
    Fail(Error(ErrorCode::kCommitInDoubt,
               fmt::format("EndTxn was sent {} times: the transaction was committed, but a request "
                           "that arrives late could end the next one",
                           results.commits_sent)));
  }
  if (results.begun) {
    phase_ = Phase::kOpen;
  }
  if (results.failure) {
    cause_ = results.failure->code;
    Fail(results.failure->error);
  }
}

// Partitions that were refused for the transaction: librdkafka only drops their records. All of
// them are reported with the error, whichever of them caused it, as for a batch; the progress
// record only if it is the only one.
void ProducerTransaction::NameCause() {
  const bool named = std::any_of(failed_.begin(), failed_.end(),
                                 [](const Failed& failed) { return !failed.failure.purged; });
  if (named || !IsAboutTopics(cause_)) {
    return;
  }
  const bool events = std::any_of(failed_.begin(), failed_.end(), [](const Failed& failed) {
    return !failed.failure.token.is_progress();
  });
  for (Failed& failed : failed_) {
    if (failed.failure.token.is_progress() != events) {
      failed.failure.error = DeliveryError(cause_, failed.topic, {});
      failed.failure.purged = false;
    }
  }
}

void ProducerTransaction::ReportFailures(DeliverySink& sink) {
  NameCause();
  for (const bool purged : {false, true}) {
    for (Failed& failed : failed_) {
      if (failed.failure.purged == purged) {
        if (purged) {
          failed.failure.error = health_.fatal();
        }
        sink.OnFailed(failed.failure);
      }
    }
  }
  failed_.clear();
  withheld_.Fail(sink, health_.fatal());
}

}  // namespace walrelay
