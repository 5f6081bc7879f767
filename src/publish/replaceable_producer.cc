#include "publish/replaceable_producer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A producer that fails at once would otherwise be created in a tight loop, each with its own
// threads and connections.
constexpr Micros kFirstStartRetry = milliseconds(250);
constexpr Micros kLongestStartRetry = seconds(30);
// One or two records; librdkafka's minimum batch size.
constexpr int64_t kMinBatchBytes = 1024;

}  // namespace

ReplaceableProducer::ReplaceableProducer(Parts parts)
    : parts_(std::move(parts)),
      backoff_(kFirstStartRetry, kLongestStartRetry, parts_.seed),
      max_batch_bytes_(parts_.max_batch_bytes),
      commit_limit_(FirstCommitLimit()) {
  WR_CHECK(parts_.make != nullptr, "there is a factory for producers");
  WR_CHECK(max_batch_bytes_ > 0, "a batch has a positive limit");
}

// While it is about to be replaced nothing enters it: the records in flight must reach zero, or be
// lost together.
absl::StatusOr<Offered> ReplaceableProducer::Produce(const Record& record, DeliveryToken token) {
  WR_CHECK(producer_ == nullptr || !retry_at_, "while there is a producer, no other one is due");
  return usable() || (token.is_progress() && settles()) ? producer_->Produce(record, token)
                                                        : Wait::kQueue;
}

bool ReplaceableProducer::Announce(std::string_view topic) {
  return usable() && producer_->Announce(topic);
}

void ReplaceableProducer::UseTransactions(std::string transactional_id, ProgressAddress progress) {
  transactional_id_ = std::move(transactional_id);
  progress_ = std::move(progress);
}

void ReplaceableProducer::Poll(DeliverySink& sink) {
  WR_CHECK(producer_ != nullptr || (!failing_since_ && !outdated_since_),
           "only a producer that exists has failed or is outdated");
  if (producer_ != nullptr) {
    producer_->Poll(sink);
  }
}

absl::Status ReplaceableProducer::FatalError() const {
  return producer_ != nullptr ? producer_->FatalError() : absl::OkStatus();
}

void ReplaceableProducer::AbandonUndelivered() {
  WR_CHECK(failing_since_.has_value(), "only a failed producer's records are abandoned");
  if (producer_ != nullptr) {
    producer_->AbandonUndelivered();
  }
}

// While there is none, the display shows why the last one ended.
SinkHealth ReplaceableProducer::health() const {
  return producer_ != nullptr ? producer_->health()
                              : SinkHealth{.trouble = error_, .reachable = false};
}

std::string ReplaceableProducer::ClusterId() const {
  return producer_ != nullptr ? producer_->ClusterId() : std::string();
}

Transactions* ReplaceableProducer::transactions() {
  return producer_ != nullptr ? producer_->transactions() : nullptr;
}

Examiner* ReplaceableProducer::examiner() {
  return producer_ != nullptr ? producer_->examiner() : nullptr;
}

int ReplaceableProducer::poll_fd() const {
  return producer_ != nullptr ? producer_->poll_fd() : -1;
}

absl::Status ReplaceableProducer::Create() {
  // The old one first: two producers at a time would need the memory of two queues.
  Destroy();
  auto producer = parts_.make({.max_batch_bytes = max_batch_bytes_,
                               .transactional_id = transactional_id_,
                               .progress = progress_,
                               .commit_limit = commit_limit_});
  WR_RETURN_IF_ERROR(producer.status());
  producer_ = *std::move(producer);
  WR_CHECK(producer_ != nullptr, "a factory returns a producer or an error");
  if (Positions* positions = producer_->positions(); history_ && positions != nullptr) {
    positions->SkipStored(*history_);
  }
  error_ = absl::OkStatus();
  retry_at_.reset();
  created_at_ = parts_.clock.Now();
  WR_CHECK(usable(), "a new producer accepts records");
  parts_.metrics.producers_started->Increment();
  return absl::OkStatus();
}

// Called in each turn.
absl::Status ReplaceableProducer::CreateIfDue(MonoTime now) {
  WR_CHECK(producer_ != nullptr || retry_at_, "a producer that was destroyed is due at some time");
  if (producer_ != nullptr || now < *retry_at_) {
    return absl::OkStatus();
  }
  const absl::Status created = Create();
  if (!created.ok()) {
    Retire(created, now + NextPause());
  }
  return created;
}

void ReplaceableProducer::Destroy() {
  producer_.reset();
  failing_since_.reset();
  outdated_since_.reset();
}

void ReplaceableProducer::Retire(const absl::Status& cause, MonoTime retry_at) {
  WR_CHECK(!cause.ok(), "a producer is retired for a reason");
  Destroy();
  error_ = cause;
  retry_at_ = retry_at;
}

// The first call of a failure counts; the following ones return its time.
MonoTime ReplaceableProducer::StopForFailure(MonoTime now) {
  WR_CHECK(producer_ != nullptr, "only a producer that exists can fail");
  failing_since_ = failing_since_.value_or(now);
  return *failing_since_;
}

MonoTime ReplaceableProducer::StopForRenewal(MonoTime now) {
  WR_CHECK(producer_ != nullptr, "only a producer that exists is renewed");
  outdated_since_ = outdated_since_.value_or(now);
  return *outdated_since_;
}

// By four and not by two: each step repeats the records in flight.
void ReplaceableProducer::ShrinkBatches() {
  max_batch_bytes_ = std::max(max_batch_bytes_ / 4, kMinBatchBytes);
}

// Up to the timeout of the brokers, which then abort the transaction.
void ReplaceableProducer::AllowMoreTime() {
  commit_limit_ = std::min(2 * commit_limit_, parts_.transaction_timeout);
}

}  // namespace walrelay
