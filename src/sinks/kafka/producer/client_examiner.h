// ClientExaminer: finds out why the records of a client wait.
//
// Another client asks the leaders of the partitions concerned for the end of each partition, which
// a producer's rights suffice for. A leader that answers, with enough in-sync replicas, could
// accept records. Besides, the state of the examined client is described: it is lost with the
// client.
//
// The other client lives for one examination only, so it resolves the bootstrap servers, connects
// and logs in as a new producer would.
//
// Threads: call all methods from one thread. The work is done on a thread of its own.
// Source: rdkafka.h, rd_kafka_dump; Kafka's protocol, ListOffsets. docs/decisions/0043.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinks/kafka/client/handles.h"
#include "walrelay/sink.h"

namespace walrelay {

// A partition that records wait for.
struct AwaitedPartition {
  static constexpr int32_t kMetadata = -1;  // they wait for the topic's metadata

  std::string topic;
  int32_t partition = kMetadata;
};

// Whether the brokers could accept records for these partitions, as a client with this
// configuration (MakeConsumerConf()) finds; blocks until `deadline` at most. Without partitions,
// whether a broker answers. Errors: WR-4008 names
// the partition without a leader, without enough in-sync replicas, or whose leader does not answer;
// WR-4001, WR-4004, WR-4005, WR-4007. Partitions whose replicas are not all in sync count as short
// of them if min.insync.replicas cannot be read.
absl::Status AskLeaders(KafkaConf conf, const std::vector<AwaitedPartition>& partitions,
                        std::chrono::steady_clock::time_point deadline);

// The lines of rd_kafka_dump() that show a client's progress, in at most kMostOfAState bytes: of
// each broker its state and its requests, and the partitions with records that wait.
inline constexpr size_t kMostOfAState = 1000;
std::string SummaryOfDump(std::string_view dump);
// SummaryOfDump() of this client. Takes locks of the client.
std::string DescribeState(rd_kafka_t* client);

class ClientExaminer {
 public:
  using ConfFactory = std::function<absl::StatusOr<KafkaConf>()>;
  static constexpr size_t kMostPartitions = 16;

  // `describe` returns the state of the examined client (DescribeState()). It may never return,
  // because a client that hangs may hold its locks: the examination then ends without the state.
  // `wakeup_fd`, an eventfd, is signalled when a result has arrived. `make_conf`, a configuration
  // of MakeConsumerConf(), is called on the thread.
  ClientExaminer(std::function<std::string()> describe, int wakeup_fd, ConfFactory make_conf);
  // Waits for an examination: twelve seconds at most, and for the end of its client. Waits for
  // `describe` as well, which the owner must expect to hang with the client.
  ~ClientExaminer();

  ClientExaminer(const ClientExaminer&) = delete;
  ClientExaminer& operator=(const ClientExaminer&) = delete;

  // Begins nothing more; does not wait.
  void Stop() { stopped_ = true; }
  // Begins an examination, unless one has not ended, or its result was not taken.
  void Begin(std::vector<AwaitedPartition> partitions);
  // The result, once.
  std::optional<Examination> Take();

 private:
  void Run(const std::vector<AwaitedPartition>& partitions);
  // Begins to read the state, unless an earlier reading has not ended.
  void BeginState();

  const std::function<std::string()> describe_;
  const int wakeup_fd_;
  const ConfFactory make_conf_;
  bool stopped_ = false;
  bool begun_ = false;  // the result was not taken
  std::mutex mutex_;
  std::condition_variable described_;  // with mutex_: describing_ has become false
  bool describing_ = false;            // guarded by mutex_
  std::string state_;                  // guarded by mutex_; as read last
  std::optional<Examination> result_;  // guarded by mutex_
  std::thread thread_;
  std::thread state_thread_;
};

}  // namespace walrelay
