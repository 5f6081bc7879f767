#include "sinks/kafka/producer/transaction_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/transaction_error.h"
#include "sinks/kafka/topics/partition_range.h"
#include "sinks/kafka/topics/progress_tail.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The timeout of a call of rd_kafka_commit_transaction(), which is repeated until it succeeds or
// Stop() is called: Stop() takes effect up to this time later.
constexpr int kCommitMillis = 200;
// Only a process that stops waits for it.
constexpr int kLeaveMillis = 1'000;
// Records that are being dropped have to be reported first.
constexpr std::chrono::seconds kCauseTimeout{2};
// librdkafka repeats the claim 500 ms after an answer that the transaction of an earlier producer
// is still being aborted. Calling rd_kafka_init_transactions() again repeats it at once. Not so
// often while the coordinator does not answer.
constexpr int kClaimMillis = 20;
constexpr int kLongestClaimMillis = 500;
constexpr int kPromptClaims = 25;
// A claim that takes longer is shown as trouble.
constexpr std::chrono::seconds kClaimGrace{5};

}  // namespace

TransactionThread::TransactionThread(rd_kafka_t* client, RequestWatch& watch, int wakeup_fd,
                                     Options options)
    : client_(client), watch_(watch), options_(std::move(options)), thread_(wakeup_fd) {
  thread_.Start([this] { Run(); });
}

void TransactionThread::Commit() {
  Ask(Task::kCommit);
}

void TransactionThread::Explain() {
  Ask(Task::kExplain);
}

void TransactionThread::Ask(Task task) {
  thread_.Ask([task](Shared& shared) { shared.task = task; });
}

TransactionThread::Results TransactionThread::TakeResults() {
  return thread_.Access([](Shared& shared) { return std::exchange(shared.results, {}); });
}

void TransactionThread::Run() {
  std::optional<Failure> failure = ClaimId();
  bool open = !failure;  // or about to begin; not if the outcome of a commit is unknown
  const auto asked = [](const Shared& shared) { return shared.task != Task::kNone; };
  while (!failure && thread_.Await(asked)) {
    const Task task =
        thread_.Access([](Shared& shared) { return std::exchange(shared.task, Task::kNone); });
    failure = task == Task::kCommit ? CommitAndBegin() : FindCause();
    open = task != Task::kCommit || !failure;
  }
  if (failure && !thread_.stopping()) {
    thread_.Post([&](Shared& shared) { shared.results.failure = std::move(failure); });
  }
  if (open) {
    LeaveTransaction();
  }
}

// If the transaction or one of its records has failed, a commit only returns the cause: nothing is
// sent.
std::optional<TransactionThread::Failure> TransactionThread::FindCause() {
  const auto deadline = SteadyClock::now() + kCauseTimeout;
  while (true) {
    const KafkaError error(rd_kafka_commit_transaction(client_, kCommitMillis));
    if (error == nullptr || rd_kafka_error_is_retriable(error.get()) == 0 || thread_.stopping() ||
        SteadyClock::now() > deadline) {
      return FailureOf(error.get());
    }
  }
}

// Readers of committed records wait behind an open transaction, until the id is claimed again: that
// may be long, if nothing can be published. This producer is not used again, so it does not matter
// whether the request arrives. Besides, librdkafka aborts the process if a client is destroyed
// while it is about to register a partition: the request fails before it is counted (an assertion
// in rd_kafka_txn_handle_AddPartitionsToTxn, 2.0.2 to 2.15.0). After this call it registers no
// more.
void TransactionThread::LeaveTransaction() {
  const KafkaError error(rd_kafka_abort_transaction(client_, kLeaveMillis));
}

TransactionThread::Failure TransactionThread::FailureOf(const rd_kafka_error_t* error) const {
  const rd_kafka_resp_err_t code =
      error != nullptr ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR__FAIL;
  return {TransactionError(code, error != nullptr ? rd_kafka_error_string(error) : "",
                           options_.transactional_id),
          code};
}

// The reader connects while the id is being claimed.
std::optional<TransactionThread::Failure> TransactionThread::ClaimId() {
  auto conf = options_.progress_conf();
  if (!conf.ok()) {
    return Failure{conf.status()};
  }
  auto reader = ProgressConsumer::Create(*std::move(conf));
  if (!reader.ok()) {
    return Failure{reader.status()};
  }
  if (auto failure = AwaitClaim(); failure || thread_.stopping()) {
    return failure;
  }
  auto claim = ReadRecord(*std::move(reader));
  if (!claim.ok()) {
    return Failure{claim.status()};
  }
  if (auto failure = Begin()) {
    return failure;
  }
  thread_.Post([&](Shared& shared) { shared.results.claim = *std::move(claim); });
  return std::nullopt;
}

std::optional<TransactionThread::Failure> TransactionThread::AwaitClaim() {
  const auto begun = SteadyClock::now();
  int millis = kClaimMillis;
  uint64_t prompt = 0;
  while (!thread_.stopping()) {
    const uint64_t answered = watch_.claims_answered();
    const KafkaError error(rd_kafka_init_transactions(client_, millis));
    if (error == nullptr) {
      return std::nullopt;
    }
    if (rd_kafka_error_is_retriable(error.get()) == 0) {
      return FailureOf(error.get());
    }
    const bool refused = watch_.claims_answered() > answered;
    millis = refused && ++prompt < kPromptClaims ? kClaimMillis
                                                 : std::min(millis * 2, kLongestClaimMillis);
    if (SteadyClock::now() - begun > kClaimGrace) {
      const bool concurrent =
          rd_kafka_error_code(error.get()) == RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS;
      thread_.Post([&](Shared& shared) {
        shared.results.trouble =
            Error(concurrent ? ErrorCode::kTransactionUnended : ErrorCode::kKafkaUnreachable,
                  fmt::format("the transactional id {} cannot be claimed: {}",
                              options_.transactional_id, rd_kafka_error_string(error.get())));
      });
    }
  }
  return std::nullopt;
}

// The end of the topic is the high watermark, from after the claim: no record follows it. The
// reader waits until every transaction before it has ended.
absl::StatusOr<TransactionThread::Claim> TransactionThread::ReadRecord(
    std::unique_ptr<ProgressConsumer> reader) {
  WR_ASSIGN_OR_RETURN(ProgressReading reading,
                      ReadProgress(client_, *reader, options_.progress, options_.read_patience,
                                   thread_.stop_token()));
  return Claim{std::move(reading.record), std::move(reader)};
}

std::optional<TransactionThread::Failure> TransactionThread::Begin() {
  if (thread_.stopping()) {
    return std::nullopt;
  }
  const KafkaError error(rd_kafka_begin_transaction(client_));
  return error == nullptr ? std::nullopt : std::optional(FailureOf(error.get()));
}

// From the transaction that is complete now, except for its commit.
void TransactionThread::LearnPause() {
  const uint64_t repeated = watch_.repeated_registrations();
  if (const Micros delay = watch_.registration_delay(); delay > Micros(0)) {
    pause_.OnRegistered(delay, repeated > repeated_registrations_);
  }
  repeated_registrations_ = repeated;
}

std::optional<TransactionThread::Failure> TransactionThread::CommitAndBegin() {
  LearnPause();
  const uint64_t before = watch_.commits_sent();
  while (true) {
    const KafkaError error(rd_kafka_commit_transaction(client_, kCommitMillis));
    if (error == nullptr) {
      break;
    }
    if (thread_.stopping()) {
      return std::nullopt;
    }
    if (rd_kafka_error_is_retriable(error.get()) == 0) {
      const rd_kafka_resp_err_t code = rd_kafka_error_code(error.get());
      return Failure{CommitError(code, rd_kafka_error_string(error.get()),
                                 options_.transactional_id, watch_.commits_sent() - before),
                     code};
    }
  }
  const auto committed = SteadyClock::now();
  const uint64_t sent = options_.reuse_after_repeated_commit
                            ? 1
                            : std::max<uint64_t>(watch_.commits_sent() - before, 1);
  thread_.Post([&](Shared& shared) { shared.results.commits_sent = sent; });
  if (sent > 1) {
    return std::nullopt;
  }
  (void)thread_.Await(
      [](const Shared&) { return false; },
      std::chrono::duration_cast<Micros>(committed + pause_.value() - SteadyClock::now()));
  if (auto failure = Begin()) {
    return failure;
  }
  thread_.Post([](Shared& shared) { shared.results.begun = true; });
  return std::nullopt;
}

}  // namespace walrelay
