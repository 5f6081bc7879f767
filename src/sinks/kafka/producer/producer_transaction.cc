#include "sinks/kafka/producer/producer_transaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "sinks/kafka/client/delivery_error.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// An error about the topics of a transaction, not about the transaction itself.
bool IsAboutTopics(rd_kafka_resp_err_t code) {
  return code != RD_KAFKA_RESP_ERR_NO_ERROR && !IsPurged(code) &&
         code != RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED &&
         !HasCode(DeliveryError(code, {}, {}), ErrorCode::kProducerFailed);
}

// A wait that is shown to operators; as long as that of the state "degraded".
constexpr Micros kNotice = std::chrono::seconds(4);

}  // namespace

void ProducerTransaction::OnAccepted(DeliveryToken token, std::string_view topic) {
  ++outstanding_;
  if (token.is_progress()) {
    held_ = false;
    awaits_ = topic;
  }
}

void ProducerTransaction::Hold(std::string_view topic) {
  held_ = true;
  awaits_ = topic;
}

void ProducerTransaction::OnHeldRefused(const absl::Status& error, std::string_view topic) {
  OnAccepted(DeliveryToken::Progress(), topic);
  OnFailed({.token = DeliveryToken::Progress(), .error = error}, topic);
}

void ProducerTransaction::Commit(MonoTime now) {
  if (phase_ == Phase::kOpen) {
    phase_ = Phase::kSealed;
    moved_ = now;
    CommitIfComplete(now);
  }
}

// librdkafka would wait for the reports, which the owner's thread has to take.
void ProducerTransaction::CommitIfComplete(MonoTime now) {
  if (phase_ == Phase::kSealed && outstanding_ == 0 && !held_ && !failing_) {
    phase_ = Phase::kCommitting;
    moved_ = now;
    thread_.Commit();
  }
}

// For example a topic that was deleted: librdkafka waits for it for more than a minute, and readers
// wait behind the open transaction.
void ProducerTransaction::CheckOverdue(MonoTime now) {
  const bool waits = phase_ == Phase::kSealed || phase_ == Phase::kCommitting;
  if (!waits || failing_ || now - moved_ <= std::min(commit_limit_, kNotice)) {
    return;
  }
  const bool progress = !awaits_.empty() && outstanding_ == (held_ ? 0U : 1U);
  if (progress) {
    health_.ExplainTrouble(Error(
        ErrorCode::kKafkaStalled,
        fmt::format("topic {}: the progress record is not acknowledged", Printable(awaits_, 80))));
  }
  if (now - moved_ <= commit_limit_) {
    return;
  }
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - moved_).count();
  if (phase_ == Phase::kCommitting) {
    Fail(Error(ErrorCode::kCommitInDoubt, fmt::format("no answer to the commit for {} s", waited)));
  } else if (progress) {
    Fail(Error(ErrorCode::kTransactionAborted,
               fmt::format("topic {}: the progress record was not acknowledged for {} s",
                           Printable(awaits_, 80), waited)));
  } else {
    Fail(Error(ErrorCode::kTransactionAborted,
               fmt::format("none of {} records was acknowledged for {} s", outstanding_, waited)));
  }
}

void ProducerTransaction::OnDelivered(const Delivery& delivery, MonoTime now) {
  WR_CHECK(outstanding_ > 0, "a report is of a record that was accepted");
  --outstanding_;
  moved_ = now;
  if (delivery.token.is_progress()) {
    awaits_ = {};
  }
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

bool ProducerTransaction::Turn(DeliveryListener& listener, MonoTime now) {
  Apply(thread_.TakeResults(), listener, now);
  CommitIfComplete(now);
  CheckOverdue(now);
  ExplainIfNeeded();
  failing_ = failing_ || !health_.fatal().ok();
  if (!health_.fatal().ok() && (outstanding_ == 0 || abandoned_)) {
    ReportFailures(listener);
  }
  return failing_ && !std::exchange(purged_, true);
}

void ProducerTransaction::Apply(TransactionThread::Results results, DeliveryListener& listener,
                                MonoTime now) {
  health_.ExplainTrouble(results.trouble);
  if (results.claim) {
    phase_ = Phase::kOpen;
    if (reaper_ != nullptr) {
      reaper_->Destroy(std::move(results.claim->reader));
    }
    health_.OnBrokerAnswered();
    claim_ = Transactions::Claim{std::move(results.claim->record)};
  }
  if (results.commits_sent > 0) {
    committed_ = true;
    health_.OnBrokerAnswered();
    withheld_.Release(listener, now);
  }
  if (results.commits_sent > 1) {
    Fail(Error(ErrorCode::kCommitRepeated,
               fmt::format("EndTxn was sent {} times", results.commits_sent)));
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
// them are reported with the error, whichever of them caused it, as for a batch. But events are
// never blamed for the progress topic, whose error is another one, nor the reverse.
void ProducerTransaction::NameCause() {
  const bool named = std::any_of(failed_.begin(), failed_.end(),
                                 [](const Failed& failed) { return !failed.failure.purged; });
  if (named || !IsAboutTopics(cause_)) {
    return;
  }
  const auto is_progress = [](const Failed& failed) { return failed.failure.token.is_progress(); };
  if (std::any_of(failed_.begin(), failed_.end(), is_progress) &&
      !std::all_of(failed_.begin(), failed_.end(), is_progress)) {
    return;
  }
  for (Failed& failed : failed_) {
    failed.failure.error = DeliveryError(cause_, failed.topic, {});
    failed.failure.purged = false;
  }
}

void ProducerTransaction::ReportFailures(DeliveryListener& listener) {
  NameCause();
  if (std::exchange(held_, false)) {
    failed_.push_back({{.token = DeliveryToken::Progress(), .purged = true}, awaits_});
  }
  for (const bool purged : {false, true}) {
    for (Failed& failed : failed_) {
      if (failed.failure.purged == purged) {
        if (purged) {
          failed.failure.error = health_.fatal();
        }
        listener.OnFailed(failed.failure);
      }
    }
  }
  failed_.clear();
  withheld_.Fail(listener, health_.fatal());
}

}  // namespace walrelay
