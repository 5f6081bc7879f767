#include "kafka/progress_tail.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "encode/progress_codec.h"
#include "kafka/cluster_info.h"
#include "kafka/handles.h"
#include "kafka/partition_range.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Of other pipelines: only the one before a change of the id matters.
constexpr size_t kMostOthers = 16;
// The end of the range is fixed before it is read, so that reading ends, however fast the topic
// grows. A broker that sends a few records now and then must not hold up a relay without end.
constexpr std::chrono::minutes kLongestRead{10};
struct Tail {
  ProgressReading reading;
  uint64_t records = 0;
};

bool HasFormatHeader(const rd_kafka_message_t& message) {
  rd_kafka_headers_t* headers = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  return rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR &&
         rd_kafka_header_get_last(headers, kProgressFormatHeader.data(), &value, &size) ==
             RD_KAFKA_RESP_ERR_NO_ERROR;
}

void TakeOther(Progress record, std::vector<Progress>& others) {
  const auto same = std::find_if(others.begin(), others.end(), [&](const Progress& other) {
    return other.pipeline == record.pipeline;
  });
  if (same == others.end()) {
    if (others.size() < kMostOthers) {
      others.push_back(std::move(record));
    }
  } else if (record.Order() >= same->Order()) {
    *same = std::move(record);
  }
}

// Takes a record for what it is. Anybody who may write to the topic can add records to it: only one
// with the key and the header of the pipeline may block publishing when it cannot be read, because
// it may be that of a later version.
absl::Status TakeRecord(const rd_kafka_message_t& message, const std::string& pipeline,
                        Tail& tail) {
  ++tail.records;
  if (message.payload == nullptr) {
    return absl::OkStatus();  // a tombstone
  }
  ProgressReading& reading = tail.reading;
  const std::string place =
      fmt::format("topic {}, offset {}", rd_kafka_topic_name(message.rkt), message.offset);
  const std::string_view key(static_cast<const char*>(message.key),
                             message.key == nullptr ? 0 : message.key_len);
  const bool marked = HasFormatHeader(message);
  // A record that a command has copied has the key in the form of EncodeProgress().
  const bool own = marked && (key == pipeline || key == Printable(pipeline));
  auto progress = DecodeProgress({static_cast<const char*>(message.payload), message.len});
  if (own) {
    WR_RETURN_IF_ERROR(progress.ok() ? absl::OkStatus() : Annotate(progress.status(), place));
    if (!reading.record || progress->Order() >= reading.record->Order()) {
      reading.record = *std::move(progress);
    }
  } else if (marked && progress.ok() && progress->pipeline == key) {
    TakeOther(*std::move(progress), reading.others);
  } else {
    ++reading.foreign;
    reading.foreign_example = fmt::format(
        "{}: {}", place,
        !marked         ? fmt::format("a record without the header {}", kProgressFormatHeader)
        : progress.ok() ? fmt::format("key \"{}\" is not the pipeline's", Printable(key, 80))
                        : MessageOf(progress.status()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ProgressReading> ReadProgressTail(rd_kafka_t* client, ProgressConsumer& consumer,
                                                 const ProgressAddress& address, Micros patience,
                                                 const std::stop_token& stop) {
  const auto begun = SteadyClock::now();
  WR_ASSIGN_OR_RETURN(const PartitionRange range,
                      AwaitRange(client, address.topic, begun + patience, stop));
  const ReadLimits limits{.deadline = begun + kLongestRead,
                          .patience = patience,
                          .arrived = [&consumer] { return consumer.fetched(); }};
  Tail tail;
  WR_RETURN_IF_ERROR(
      ReadRanges(consumer.client(), {range}, limits, stop, [&](const rd_kafka_message_t& message) {
        return TakeRecord(message, address.pipeline, tail);
      }));
  LogDebug("progress_read", "the newest version of the record is known",
           {{"topic", range.topic},
            {"first_offset", range.begin},
            {"from_offset", range.begin},
            {"end_offset", range.end},
            {"records", tail.records},
            {"fetched_bytes", consumer.fetched()}});
  tail.reading.cluster_id = ClusterIdOf(client);
  return std::move(tail.reading);
}

}  // namespace walrelay
