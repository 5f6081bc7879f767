// TransactionThread: calls the transactional functions of a producer, which block.
//
// It claims the transactional id, reads the progress record, begins the first transaction, and then
// commits one transaction after the other. It never repairs one: after an error it only explains
// what has happened.
//
// Threads: call all methods from one thread. The work is done on a thread of its own, which
// signals an eventfd when a result has arrived.
// Source: rdkafka.h, "Transactional producer API".
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/request_thread.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/producer/commit_pause.h"
#include "sinks/kafka/producer/request_watch.h"
#include "sinks/kafka/topics/progress_consumer.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"

namespace walrelay {

class TransactionThread {
 public:
  struct Options {
    std::string transactional_id;
    ProgressAddress progress;
    // Returns a configuration of MakeProgressConf(); called on the thread.
    std::function<absl::StatusOr<KafkaConf>()> progress_conf;
    // For brokers that send nothing while the progress record is read.
    Micros read_patience = std::chrono::seconds(10);
    bool reuse_after_repeated_commit = false;  // see KafkaProducer::Options
  };

  // The id is claimed, and the first transaction has begun.
  struct Claim {
    std::optional<Progress> record;
    // It has read the record; destroying it takes a while.
    std::unique_ptr<ProgressConsumer> reader;
  };
  struct Failure {
    absl::Status error;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
  };
  // The results that have arrived since the last call.
  struct Results {
    std::optional<Claim> claim;
    uint64_t commits_sent = 0;       // of a transaction that was committed: how often; 0: none was
    bool begun = false;              // the transaction after it has begun
    std::optional<Failure> failure;  // the last result
    absl::Status trouble;            // why the claim has not succeeded yet
  };

  // `client`, a producer with a transactional id and an isolation level of read_uncommitted,
  // `watch`, attached to it, and `wakeup_fd` must outlive the thread.
  TransactionThread(rd_kafka_t* client, RequestWatch& watch, int wakeup_fd, Options options);

  TransactionThread(const TransactionThread&) = delete;
  TransactionThread& operator=(const TransactionThread&) = delete;

  // Begins nothing more. Does not wait for the call in progress, which takes up to two seconds; the
  // destructor does.
  void Stop() { thread_.Stop(); }

  // Commits the transaction, however long it takes. Results: commits_sent and then begun, or
  // failure. If EndTxn was sent more than once, no other transaction begins.
  // REQUIRES: a transaction has begun, and each of its records was reported as delivered.
  void Commit();
  // The transaction has failed. Result: failure, the cause.
  // REQUIRES: a transaction has begun; neither Commit() nor Explain() was called since. A record
  // was reported as failed, or librdkafka has refused one.
  void Explain();

  Results TakeResults();

 private:
  enum class Task { kNone, kCommit, kExplain };
  struct Shared {
    Task task = Task::kNone;
    Results results;
  };

  void Run();
  void Ask(Task task);
  std::optional<Failure> ClaimId();
  std::optional<Failure> AwaitClaim();
  absl::StatusOr<Claim> ReadRecord(std::unique_ptr<ProgressConsumer> reader);
  std::optional<Failure> Begin();
  std::optional<Failure> CommitAndBegin();
  void LearnPause();
  std::optional<Failure> FindCause();
  void LeaveTransaction();
  Failure FailureOf(const rd_kafka_error_t* error) const;

  rd_kafka_t* const client_;
  RequestWatch& watch_;
  const Options options_;
  CommitPause pause_;                    // the thread's
  uint64_t repeated_registrations_ = 0;  // the thread's
  RequestThread<Shared> thread_;
};

}  // namespace walrelay
