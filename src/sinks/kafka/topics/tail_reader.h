// TailReader: reads the ends of topics, to learn which events they have already.
//
// The ends of all partitions of a topic are read at once, without a group: reading leaves no trace
// on the brokers. Only the headers "wr-pos" count (encode/position_header.h).
//
// A partition counts only while what was read of it is stored safely (kafka/topic_replicas.h).
//
// When in doubt nothing counts as stored, and events are sent again: after an error, after the
// deadline, and if the number of partitions is not the expected one.
//
// Threads: call all methods from one thread; a thread of its own sends the requests, which block.
// Its consumer exists from the first request until no topic was requested for a while.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/request_thread.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/topics/partition_range.h"
#include "stream/stored_events.h"
#include "walrelay/clock.h"
#include "walrelay/record_position.h"

namespace walrelay {

class TailReader {
 public:
  // Records that are read of each partition, at most. Those of other producers count too: behind
  // more of them, walrelay's own are not found.
  static constexpr int64_t kTailRecords = 200;
  // A relay that catches up publishes thousands of events before its progress is recorded. Where
  // all records that were read are of transactions that will be sent again, older ones are read,
  // too: of a topic at most this many, which bounds the memory and the time.
  static constexpr int64_t kFurtherRecords = 50'000;

  // Returns the configuration of a consumer (MakeConsumerConf()); called on the reader's thread for
  // each consumer.
  using ConfFactory = std::function<absl::StatusOr<KafkaConf>()>;

  struct Options {
    Micros timeout = std::chrono::seconds(10);  // for each topic
    Micros idle = std::chrono::seconds(30);     // without a request: the consumer is closed
  };

  struct Result {
    std::string topic;
    std::vector<StoredEvents> partitions;  // as many as requested
    std::string trouble;  // why some partitions, or all, do not count; "": there is no reason
  };

  // Events of `history` are to be published. `wakeup_fd`, an eventfd that must outlive the reader,
  // is signalled when a result has arrived.
  TailReader(ConfFactory make_conf, WalHistory history, int wakeup_fd, const Options& options);
  TailReader(ConfFactory make_conf, WalHistory history, int wakeup_fd)
      : TailReader(std::move(make_conf), std::move(history), wakeup_fd, Options()) {}

  TailReader(const TailReader&) = delete;
  TailReader& operator=(const TailReader&) = delete;

  // Begins nothing more; does not wait for the current request. The destructor does, at most
  // Options::timeout, and until the consumer is closed.
  void Stop() { thread_.Stop(); }

  // Reads the ends of a topic that has this number of partitions. Exactly one result follows,
  // unless Stop() is called. REQUIRES: `partitions` is positive.
  void Request(const std::string& topic, int32_t partitions);

  // The results that have arrived since the last call, oldest first. Does not wait.
  std::vector<Result> DrainResults();

 private:
  struct Question {
    std::string topic;
    int32_t partitions = 0;
  };
  struct Shared {
    std::deque<Question> questions;
    std::vector<Result> results;
  };

  // The body of the thread.
  void Run();
  Result Read(const Question& question);
  absl::Status ReadInto(Result& result);
  // Reads older records, in partitions where they may belong to transactions that will be sent
  // again. `ranges`: the range that was read in each partition; `begins`: where the partitions
  // begin, by their numbers. Stops without an error when no time is left: the records that were
  // read until then count.
  void ReadFurtherBack(std::vector<PartitionRange> ranges, const std::vector<int64_t>& begins,
                       Result& result);
  void Note(const rd_kafka_message_t& message, Result& result) const;

  const ConfFactory make_conf_;
  const WalHistory history_;
  const Options options_;
  KafkaClient consumer_;  // the thread's; nullptr: none at the moment
  RequestThread<Shared> thread_;
};

}  // namespace walrelay
