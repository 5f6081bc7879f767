#include "sinks/kafka/topics/partition_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "sinks/kafka/client/delivery_error.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr int kReadPollMillis = 10;
constexpr int kWakeMillis = 100;
constexpr int kQueryMillis = 2'000;

// The ends of the partitions that are not read completely.
using OpenEnds = std::map<std::pair<std::string_view, int32_t>, int64_t>;

OpenEnds Assign(rd_kafka_t* consumer, const std::vector<PartitionRange>& ranges) {
  OpenEnds open;
  const KafkaPartitionList partitions(rd_kafka_topic_partition_list_new(16));
  for (const PartitionRange& range : ranges) {
    if (range.begin < range.end) {
      rd_kafka_topic_partition_list_add(partitions.get(), range.topic.c_str(), range.partition)
          ->offset = range.begin;
      open[{range.topic, range.partition}] = range.end;
    }
  }
  rd_kafka_assign(consumer, partitions.get());
  return open;
}

// How far a reading has come.
struct Reached {
  size_t records = 0;
  uint64_t bytes = 0;  // as `arrived` counts them
  int64_t next = -1;   // behind the last record; -1: there was none
};

absl::Status TimedOut(const ReadLimits& limits, const Reached& reached, const OpenEnds& open,
                      rd_kafka_resp_err_t trouble) {
  const auto& [partition, end] = *open.begin();
  std::string message = fmt::format("timed out after reading {} records", reached.records);
  if (limits.arrived) {
    message += fmt::format(" and fetching {} bytes", reached.bytes);
  }
  if (reached.next >= 0) {
    message += fmt::format(", up to offset {}", reached.next);
  }
  message += fmt::format(
      "; {} partitions have more: partition {} up to offset {}{}{}", open.size(), partition.second,
      end, trouble == RD_KAFKA_RESP_ERR_NO_ERROR ? "" : "; ",
      trouble == RD_KAFKA_RESP_ERR_NO_ERROR
          ? ""
          : fmt::format("{} ({})", rd_kafka_err2str(trouble), rd_kafka_err2name(trouble)));
  return Error(trouble == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED
                   ? ErrorCode::kTopicDenied
                   : ErrorCode::kKafkaUnreachable,
               message);
}

// Before version 2.2, librdkafka's thread of a broker sleeps for up to a second when the consumer's
// queue was full, also if the queue is empty by then. A request to that broker wakes it.
void WakeFetchers(rd_kafka_t* consumer, const OpenEnds& open) {
  const KafkaPartitionList partitions(rd_kafka_topic_partition_list_new(16));
  for (const auto& [partition, end] : open) {
    rd_kafka_topic_partition_list_add(partitions.get(), std::string(partition.first).c_str(),
                                      partition.second);
  }
  QueryOffsets(consumer, *partitions, RD_KAFKA_OFFSET_END, kWakeMillis).IgnoreError();
}

}  // namespace

// Not rd_kafka_query_watermark_offsets(): before librdkafka 2.3.0 it waits without end for a leader
// that is not reachable (confluentinc/librdkafka#4460).
absl::StatusOr<KafkaPartitionList> QueryOffsets(rd_kafka_t* client,
                                                const rd_kafka_topic_partition_list_t& partitions,
                                                int64_t which, int millis) {
  KafkaPartitionList offsets(rd_kafka_topic_partition_list_copy(&partitions));
  for (int i = 0; i < offsets->cnt; ++i) {
    offsets->elems[i].offset = which;
  }
  const rd_kafka_resp_err_t error = rd_kafka_offsets_for_times(client, offsets.get(), millis);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return offsets->cnt == 1 ? TopicError(error, offsets->elems[0].topic)
                             : LastClientError(client, error);
  }
  return offsets;
}

int64_t OffsetOf(const rd_kafka_topic_partition_list_t& offsets, const std::string& topic,
                 int32_t partition) {
  const rd_kafka_topic_partition_t* found =
      rd_kafka_topic_partition_list_find(&offsets, topic.c_str(), partition);
  return found != nullptr && found->err == RD_KAFKA_RESP_ERR_NO_ERROR ? found->offset : -1;
}

absl::StatusOr<PartitionRange> QueryRange(rd_kafka_t* client, const std::string& topic,
                                          int32_t partition, int millis) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(millis);
  const KafkaPartitionList list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition);
  const auto query = [&](int64_t which) -> absl::StatusOr<int64_t> {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    WR_ASSIGN_OR_RETURN(
        const KafkaPartitionList offsets,
        QueryOffsets(client, *list, which,
                     static_cast<int>(std::clamp<int64_t>(left.count(), 1, millis))));
    if (const rd_kafka_resp_err_t error = offsets->elems[0].err;
        error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return TopicError(error, topic);
    }
    return offsets->elems[0].offset;
  };
  // In this order: records that are deleted in between do not make the range negative.
  PartitionRange range{.topic = topic, .partition = partition};
  WR_ASSIGN_OR_RETURN(range.begin, query(RD_KAFKA_OFFSET_BEGINNING));
  WR_ASSIGN_OR_RETURN(range.end, query(RD_KAFKA_OFFSET_END));
  return range;
}

// Sends several short requests, because a long one could not be interrupted.
absl::StatusOr<PartitionRange> AwaitRange(rd_kafka_t* client, const std::string& topic,
                                          std::chrono::steady_clock::time_point deadline,
                                          const std::stop_token& stop) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    auto range = QueryRange(client, topic, 0,
                            static_cast<int>(std::clamp<int64_t>(left.count(), 1, kQueryMillis)));
    if (stop.stop_requested()) {
      return absl::CancelledError("the process is stopping");
    }
    if (range.ok() || !HasCode(range.status(), ErrorCode::kKafkaUnreachable) ||
        std::chrono::steady_clock::now() >= deadline) {
      return range;
    }
  }
}

absl::Status ReadRanges(rd_kafka_t* consumer, const std::vector<PartitionRange>& ranges,
                        const ReadLimits& limits, const std::stop_token& stop,
                        const std::function<absl::Status(const rd_kafka_message_t&)>& on_record) {
  OpenEnds open = Assign(consumer, ranges);
  const auto arrived = [&] { return limits.arrived ? limits.arrived() : 0; };
  const uint64_t arrived_before = arrived();
  Reached reached;
  auto moved = std::chrono::steady_clock::now();
  size_t read_at_wake = 0;
  rd_kafka_resp_err_t trouble = RD_KAFKA_RESP_ERR_NO_ERROR;
  while (!open.empty()) {
    if (stop.stop_requested()) {
      return absl::CancelledError("reading was interrupted");
    }
    const auto now = std::chrono::steady_clock::now();
    if (const uint64_t bytes = arrived() - arrived_before; bytes != reached.bytes) {
      reached.bytes = bytes;
      moved = now;
    }
    if (now > limits.deadline || (limits.patience && now - moved > *limits.patience)) {
      return TimedOut(limits, reached, open, trouble);
    }
    const KafkaMessage message(rd_kafka_consumer_poll(consumer, kReadPollMillis));
    if (message == nullptr) {
      if (std::exchange(read_at_wake, reached.records) != reached.records) {
        WakeFetchers(consumer, open);
      }
      continue;
    }
    const bool at_end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    if (message->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED && message->rkt != nullptr) {
      return TopicError(message->err, rd_kafka_topic_name(message->rkt));
    }
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR && !at_end) {
      // Transient, or about the group, which reading does not need.
      trouble = message->err;
      continue;
    }
    const auto range = open.find({rd_kafka_topic_name(message->rkt), message->partition});
    if (range == open.end()) {
      continue;  // it has been read up to its end
    }
    const int64_t end = range->second;
    if (!at_end && message->offset < end) {
      ++reached.records;
      reached.next = message->offset + 1;
      moved = now;
      WR_RETURN_IF_ERROR(on_record(*message));
    }
    // The offset of the end is that of the next record. It may be less than the range's end: that
    // of a replica that lags.
    if (message->offset + (at_end ? 0 : 1) >= end) {
      open.erase(range);
    }
  }
  return absl::OkStatus();
}

}  // namespace walrelay
