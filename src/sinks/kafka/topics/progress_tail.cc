#include "sinks/kafka/topics/progress_tail.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "encode/progress_codec.h"
#include "sinks/kafka/client/cluster_info.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/topics/partition_range.h"
#include "sinks/kafka/topics/progress_error.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kOffsetsMillis = 2'000;
constexpr int kMetadataMillis = 2'000;
// A reading keeps this many records of other pipelines: it is for one whose id was changed.
constexpr size_t kMostOthers = 16;
// The end of the range is fixed before it is read, so that reading ends, however fast the topic
// grows. A broker that sends a few records now and then must not hold up a relay without end.
constexpr std::chrono::minutes kLongestRead{10};
// Compaction leaves each version alone for this long: CompactedTopicRule() creates the topic so.
// It keeps the last one of the older versions.
constexpr std::chrono::minutes kKept{5};
// Offsets that are read at first, and by what more are read while they have no record of the
// pipeline: then all that is read twice is a small part of the whole.
constexpr int64_t kFirstOffsets = 1'000;
constexpr int64_t kGrowth = 16;

// A part of the topic, up to its end.
struct Tail {
  ProgressReading reading;
  // The times of the record, and of the oldest version in this part, as stored by the broker.
  WallTime stored;
  WallTime oldest = WallTime::max();
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

// 1970, if the record has none: then everything is read.
WallTime TimeOf(const rd_kafka_message_t& message) {
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const int64_t millis = rd_kafka_message_timestamp(&message, &type);
  return WallTime(milliseconds(type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? millis : 0));
}

void TakeOther(Progress record, std::vector<Progress>& others) {
  const auto same = std::find_if(others.begin(), others.end(), [&](const Progress& other) {
    return other.pipeline == record.pipeline;
  });
  if (same == others.end()) {
    if (others.size() < kMostOthers) {
      others.push_back(std::move(record));
    }
  } else {
    same->Add(record);
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
    const WallTime stored = TimeOf(message);
    tail.oldest = std::min(tail.oldest, stored);
    if (!reading.record || progress->Order() >= reading.record->Order()) {
      tail.stored = stored;
    }
    AddVersion(reading.record, *progress);
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

// The first offset with this time or a later one; -1: there is none, or it is unknown.
int64_t OffsetAt(rd_kafka_t* client, const std::string& topic, WallTime time) {
  const auto millis = std::chrono::floor<milliseconds>(time).time_since_epoch().count();
  const KafkaPartitionList list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), 0);
  const auto offsets = QueryOffsets(client, *list, std::max<int64_t>(millis, 0), kOffsetsMillis);
  return offsets.ok() ? OffsetOf(**offsets, topic, 0) : -1;
}

// Where reading has to begin, so that it finds at least what compaction keeps at this moment: each
// version of the last minutes, and the last one of those before. Besides, each one of the minutes
// before the record was written: it may have been stored long after that. `range` is all of the
// topic, `begin` where the part begins that `tail` shows.
int64_t NeededFrom(rd_kafka_t* client, const PartitionRange& range, int64_t begin,
                   const Tail& tail) {
  int64_t needed = range.end - (range.end - begin) * kGrowth;
  if (tail.reading.record) {
    const WallTime now = SystemClock().WallNow();
    // A clock that is ahead must not leave out versions.
    const WallTime newest = std::min({tail.stored, tail.reading.record->written, now});
    const int64_t recent = OffsetAt(client, range.topic, std::max(newest, WallTime(kKept)) - kKept);
    needed = tail.oldest <= now - kKept ? recent : std::min(needed, recent);
  }
  return std::max(needed, range.begin);
}

}  // namespace

// A version with a greater order may show that more has to be read, so this is repeated until
// nothing more is needed.
absl::StatusOr<ProgressReading> ReadProgressTail(rd_kafka_t* client, ProgressConsumer& consumer,
                                                 const ProgressAddress& address, Micros patience,
                                                 const std::stop_token& stop) {
  const auto begun = SteadyClock::now();
  WR_ASSIGN_OR_RETURN(const PartitionRange range,
                      AwaitRange(client, address.topic, begun + patience, stop));
  const ReadLimits limits{.deadline = begun + kLongestRead,
                          .patience = patience,
                          .arrived = [&consumer] { return consumer.fetched(); }};
  PartitionRange part = range;
  part.begin = std::max(range.begin, range.end - kFirstOffsets);
  while (true) {
    Tail tail;
    WR_RETURN_IF_ERROR(
        ReadRanges(consumer.client(), {part}, limits, stop, [&](const rd_kafka_message_t& message) {
          return TakeRecord(message, address.pipeline, tail);
        }));
    const int64_t needed =
        part.begin > range.begin ? NeededFrom(client, range, part.begin, tail) : range.begin;
    if (needed >= part.begin) {
      LogDebug("progress_read", "the newest version of the record is known",
               {{"topic", range.topic},
                {"first_offset", range.begin},
                {"from_offset", part.begin},
                {"end_offset", range.end},
                {"records", tail.records},
                {"fetched_bytes", consumer.fetched()}});
      tail.reading.cluster_id = ClusterIdOf(client);
      return std::move(tail.reading);
    }
    part.begin = needed;
  }
}

absl::StatusOr<ProgressReading> ReadProgress(rd_kafka_t* client, ProgressConsumer& reader,
                                             const ProgressAddress& address, Micros patience,
                                             const std::stop_token& stop) {
  const std::string& topic = address.topic;
  // The reader's own request for the topic: an assignment would wait for a timer of one second.
  const KafkaTopic handle(rd_kafka_topic_new(reader.client(), topic.c_str(), nullptr));
  const struct rd_kafka_metadata* found = nullptr;
  if (rd_kafka_metadata(reader.client(), /*all_topics=*/0, handle.get(), &found, kMetadataMillis) ==
      RD_KAFKA_RESP_ERR_NO_ERROR) {
    rd_kafka_metadata_destroy(found);
  }
  auto result = ReadProgressTail(client, reader, address, patience, stop);
  if (HasCode(result.status(), ErrorCode::kKafkaUnreachable)) {
    // Brokers may answer, but withhold what is behind an open transaction.
    const auto soon = SteadyClock::now() + milliseconds(kMetadataMillis);
    const auto settled = TransactionsHaveEnded(client, reader.client(), topic, soon, stop);
    if (settled.ok() && !*settled) {
      return Error(ErrorCode::kTransactionUnended,
                   fmt::format("topic {} has an open transaction", topic));
    }
  }
  if (!result.ok() && !absl::IsCancelled(result.status())) {
    return AboutProgress(result.status(), topic);
  }
  return result;
}

// The open transactions are those between the two ends. The one that does not count them is read
// last.
absl::StatusOr<bool> TransactionsHaveEnded(rd_kafka_t* uncommitted, rd_kafka_t* committed,
                                           const std::string& topic,
                                           SteadyClock::time_point deadline,
                                           const std::stop_token& stop) {
  WR_ASSIGN_OR_RETURN(const PartitionRange all, AwaitRange(uncommitted, topic, deadline, stop));
  WR_ASSIGN_OR_RETURN(const PartitionRange ended, AwaitRange(committed, topic, deadline, stop));
  return ended.end >= all.end;
}

}  // namespace walrelay
