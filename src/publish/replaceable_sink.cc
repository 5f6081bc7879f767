#include "publish/replaceable_sink.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A sink that fails at once would otherwise be created in a tight loop, each with its own
// threads and connections.
constexpr Micros kFirstStartRetry = milliseconds(250);
constexpr Micros kLongestStartRetry = seconds(30);
// How long acknowledgements may arrive after a failure.
constexpr Micros kLateReports = milliseconds(500);
constexpr Micros kReportTimeout = seconds(5);
// One or two records; librdkafka's minimum batch size.
constexpr int64_t kMinBatchBytes = 1024;

}  // namespace

ReplaceableSink::ReplaceableSink(Parts parts)
    : parts_(std::move(parts)),
      backoff_(kFirstStartRetry, kLongestStartRetry, parts_.seed),
      max_batch_bytes_(parts_.max_batch_bytes),
      commit_limit_(FirstCommitLimit()) {
  WR_CHECK(parts_.make != nullptr, "there is a factory for producers");
  WR_CHECK(max_batch_bytes_ > 0, "a batch has a positive limit");
}

// While it is about to be replaced nothing enters it: the records in flight must reach zero, or be
// lost together.
absl::StatusOr<Offered> ReplaceableSink::Produce(const Record& record, DeliveryToken token) {
  WR_CHECK(sink_ == nullptr || !retry_at_, "while there is a producer, no other one is due");
  return usable() || (token.is_progress() && settles()) ? sink_->Produce(record, token)
                                                        : Wait::kQueue;
}

bool ReplaceableSink::Announce(std::string_view topic) {
  return usable() && sink_->Announce(topic);
}

void ReplaceableSink::UseTransactions(std::string transactional_id, ProgressAddress progress) {
  transactional_id_ = std::move(transactional_id);
  progress_ = std::move(progress);
}

void ReplaceableSink::Poll(DeliveryListener& listener) {
  WR_CHECK(sink_ != nullptr || (!failing_since_ && !outdated_since_),
           "only a producer that exists has failed or is outdated");
  if (sink_ != nullptr) {
    sink_->Poll(listener);
  }
}

absl::Status ReplaceableSink::FatalError() const {
  return sink_ != nullptr ? sink_->FatalError() : absl::OkStatus();
}

void ReplaceableSink::AbandonUndelivered() {
  WR_CHECK(failing_since_.has_value(), "only a failed producer's records are abandoned");
  if (sink_ != nullptr) {
    sink_->AbandonUndelivered();
  }
}

// While there is none, the display shows why the last one ended.
SinkHealth ReplaceableSink::health() const {
  return sink_ != nullptr ? sink_->health() : SinkHealth{.trouble = error_, .reachable = false};
}

std::string ReplaceableSink::ClusterId() const {
  return sink_ != nullptr ? sink_->ClusterId() : std::string();
}

Transactions* ReplaceableSink::transactions() {
  return sink_ != nullptr ? sink_->transactions() : nullptr;
}

void ReplaceableSink::Commit() {
  WR_CHECK(settles(), "the sink has accepted a record");
  Transactions* const transactions = sink_->transactions();
  WR_CHECK(transactions != nullptr, "a sink that commits has transactions");
  transactions->Commit();
}

Examiner* ReplaceableSink::examiner() {
  return sink_ != nullptr ? sink_->examiner() : nullptr;
}

int ReplaceableSink::poll_fd() const {
  return sink_ != nullptr ? sink_->poll_fd() : -1;
}

absl::Status ReplaceableSink::Create() {
  // The old one first: two sinks at a time would need the memory of two queues.
  Destroy();
  auto sink = parts_.make({.max_batch_bytes = max_batch_bytes_,
                           .transactional_id = transactional_id_,
                           .progress = progress_,
                           .commit_limit = commit_limit_});
  WR_RETURN_IF_ERROR(sink.status());
  sink_ = *std::move(sink);
  WR_CHECK(sink_ != nullptr, "a factory returns a producer or an error");
  if (Positions* positions = sink_->positions(); history_ && positions != nullptr) {
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
absl::Status ReplaceableSink::CreateIfDue(MonoTime now) {
  WR_CHECK(sink_ != nullptr || retry_at_, "a producer that was destroyed is due at some time");
  if (sink_ != nullptr || now < *retry_at_) {
    return absl::OkStatus();
  }
  const absl::Status created = Create();
  if (!created.ok()) {
    Retire(created, now + NextPause());
  }
  return created;
}

void ReplaceableSink::Destroy() {
  sink_.reset();
  failing_since_.reset();
  outdated_since_.reset();
}

void ReplaceableSink::Retire(const absl::Status& cause, MonoTime retry_at) {
  WR_CHECK(!cause.ok(), "a producer is retired for a reason");
  Destroy();
  error_ = cause;
  retry_at_ = retry_at;
}

// The first call of a failure counts; the following ones return its time.
MonoTime ReplaceableSink::StopForFailure(MonoTime now) {
  WR_CHECK(sink_ != nullptr, "only a producer that exists can fail");
  failing_since_ = failing_since_.value_or(now);
  return *failing_since_;
}

// Reports are lost if librdkafka does not deliver them after AbandonUndelivered(); then the owner
// assumes nothing about the records that were in flight.
bool ReplaceableSink::AwaitReports(bool all_reported, MonoTime now) {
  const Micros failing = now - StopForFailure(now);
  WR_CHECK(failing >= Micros(0), "time does not move backwards");
  if (all_reported || failing > kReportTimeout) {
    return false;
  }
  if (failing > kLateReports) {
    AbandonUndelivered();
  }
  return true;
}

MonoTime ReplaceableSink::StopForRenewal(MonoTime now) {
  WR_CHECK(sink_ != nullptr, "only a producer that exists is renewed");
  outdated_since_ = outdated_since_.value_or(now);
  return *outdated_since_;
}

// By four and not by two: each step repeats the records in flight.
void ReplaceableSink::ShrinkBatches() {
  max_batch_bytes_ = std::max(max_batch_bytes_ / 4, kMinBatchBytes);
}

// Up to the timeout of the brokers, which then abort the transaction.
void ReplaceableSink::AllowMoreTime() {
  commit_limit_ = std::min(2 * commit_limit_, parts_.transaction_timeout);
}

}  // namespace walrelay
