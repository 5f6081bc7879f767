#include "sinks/kafka/topics/tail_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "encode/position_header.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/topics/partition_range.h"
#include "sinks/kafka/topics/topic_replicas.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// A topic that the producer has just found may be unknown to another broker.
constexpr std::chrono::seconds kUntilKnown{2};
constexpr std::chrono::milliseconds kUntilAskedAgain{20};
// The time limit for reading older records, after those at the ends have been read.
constexpr std::chrono::seconds kFurtherTime{5};
constexpr int64_t kFurtherFactor = 4;
// Partitions begin to be read one after another: a request for some of them must not wait long for
// new records while others could be read. Tails that exceed the queue must not pause for long
// either (older versions do not have the last property, so errors are ignored). Where the end of a
// partition was cut off after its offset was queried, there is nothing to be read: "latest".
void AdaptToTails(rd_kafka_conf_t* conf) {
  constexpr std::pair<const char*, const char*> kProperties[] = {
      {"isolation.level", "read_uncommitted"},
      {"auto.offset.reset", "latest"},
      {"fetch.message.max.bytes", "262144"},
      {"queued.max.messages.kbytes", "16384"},
      {"fetch.wait.max.ms", "5"},
      {"fetch.error.backoff.ms", "20"},
      {"fetch.queue.backoff.ms", "20"},
  };
  for (const auto& [name, value] : kProperties) {
    rd_kafka_conf_set(conf, name, value, nullptr, 0);
  }
  rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_ERROR);
}

absl::StatusOr<KafkaClient> StartTailConsumer(const TailReader::ConfFactory& make_conf) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, make_conf());
  AdaptToTails(conf.get());
  return MakeClient(RD_KAFKA_CONSUMER, std::move(conf));
}

// The metadata of a topic, if the brokers report this number of partitions.
absl::StatusOr<KafkaMetadata> FetchTopicWith(rd_kafka_t* client, const std::string& topic,
                                             size_t partitions, SteadyTime deadline) {
  WR_ASSIGN_OR_RETURN(KafkaMetadata metadata, FetchTopic(client, topic, deadline));
  if (const size_t count = PartitionsIn(*metadata).size(); count != partitions) {
    return Error(ErrorCode::kPartitionsChanged,
                 fmt::format("topic {}: {} partitions, expected {}", Printable(topic, 80), count,
                             partitions));
  }
  return metadata;
}

// The ranges to be read in a topic.
struct Tails {
  KafkaMetadata metadata;
  std::vector<PartitionRange> ranges;  // those that are not empty
  std::vector<int64_t> begins;         // of the partitions, by their numbers; 0: unknown
  int unknown = 0;                     // partitions without a leader, or without its answer
};

absl::StatusOr<Tails> QueryTails(rd_kafka_t* client, const std::string& topic, size_t partitions,
                                 SteadyTime deadline) {
  Tails tails;
  tails.begins.resize(partitions);
  WR_ASSIGN_OR_RETURN(tails.metadata, FetchTopicWith(client, topic, partitions, deadline));
  const KafkaPartitionList led(rd_kafka_topic_partition_list_new(static_cast<int>(partitions)));
  for (const rd_kafka_metadata_partition& partition : PartitionsIn(*tails.metadata)) {
    if (partition.leader >= 0) {
      rd_kafka_topic_partition_list_add(led.get(), topic.c_str(), partition.id);
    }
  }
  tails.unknown = static_cast<int>(partitions) - led->cnt;
  if (led->cnt == 0) {
    return tails;
  }
  WR_ASSIGN_OR_RETURN(const KafkaPartitionList ends,
                      QueryOffsets(client, *led, RD_KAFKA_OFFSET_END, MillisBefore(deadline)));
  WR_ASSIGN_OR_RETURN(
      const KafkaPartitionList begins,
      QueryOffsets(client, *led, RD_KAFKA_OFFSET_BEGINNING, MillisBefore(deadline)));
  for (const rd_kafka_topic_partition_t& partition :
       std::span(led->elems, static_cast<size_t>(led->cnt))) {
    const int64_t begin = OffsetOf(*begins, topic, partition.partition);
    const int64_t end = OffsetOf(*ends, topic, partition.partition);
    if (begin < 0 || end < 0) {
      ++tails.unknown;
    } else if (begin < end) {
      tails.ranges.push_back({.topic = topic,
                              .partition = partition.partition,
                              .begin = std::max(begin, end - TailReader::kTailRecords),
                              .end = end});
      tails.begins[static_cast<size_t>(partition.partition)] = begin;
    }
  }
  return tails;
}

// The same, repeated for a while until all partitions have answered: not every broker may know a
// new topic, or the leader of a partition may be moving.
absl::StatusOr<Tails> AwaitTails(rd_kafka_t* client, const std::string& topic, size_t partitions,
                                 SteadyTime deadline, const std::stop_token& stop) {
  const SteadyTime give_up = std::min(deadline, std::chrono::steady_clock::now() + kUntilKnown);
  while (true) {
    absl::StatusOr<Tails> tails = QueryTails(client, topic, partitions, deadline);
    if ((tails.ok() && tails->unknown == 0) || HasCode(tails.status(), ErrorCode::kTopicDenied) ||
        std::chrono::steady_clock::now() >= give_up) {
      return tails;
    }
    if (stop.stop_requested()) {
      return absl::CancelledError("reading was interrupted");
    }
    std::this_thread::sleep_for(kUntilAskedAgain);
  }
}

// The position in walrelay's header, in the last one if there are several: the producer appends it.
std::optional<StoredPosition> PositionIn(const rd_kafka_message_t& message,
                                         const std::string& topic) {
  rd_kafka_headers_t* headers = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR ||
      rd_kafka_header_get_last(headers, kPositionHeader.data(), &value, &size) !=
          RD_KAFKA_RESP_ERR_NO_ERROR ||
      value == nullptr) {
    return std::nullopt;
  }
  return DecodePosition({static_cast<const char*>(value), size},
                        {.topic = topic, .partition = message.partition});
}

// Forgets what was read of the partitions whose records may be lost. Returns how many.
int ForgetUnsafe(rd_kafka_t* client, const std::string& topic,
                 const struct rd_kafka_metadata& before, const struct rd_kafka_metadata& after,
                 SteadyTime deadline, std::vector<StoredEvents>& partitions) {
  std::vector<int32_t> read;
  for (size_t i = 0; i < partitions.size(); ++i) {
    if (partitions[i].last()) {  // else there is nothing to forget
      read.push_back(static_cast<int32_t>(i));
    }
  }
  const std::vector<bool> safe = AreStoredSafely(client, topic, before, after, read, deadline);
  int unsafe = 0;
  for (size_t i = 0; i < read.size(); ++i) {
    if (!safe[i]) {
      partitions[static_cast<size_t>(read[i])] = StoredEvents();
      ++unsafe;
    }
  }
  return unsafe;
}

}  // namespace

TailReader::TailReader(ConfFactory make_conf, WalHistory history, int wakeup_fd,
                       const Options& options)
    : make_conf_(std::move(make_conf)),
      history_(std::move(history)),
      options_(options),
      thread_(wakeup_fd) {
  thread_.Start([this] { Run(); });
}

void TailReader::Request(const std::string& topic, int32_t partitions) {
  WR_CHECK(partitions > 0, "a topic has a partition");
  thread_.Ask([&](Shared& shared) { shared.questions.push_back({topic, partitions}); });
}

std::vector<TailReader::Result> TailReader::DrainResults() {
  return thread_.Access([](Shared& shared) { return std::exchange(shared.results, {}); });
}

void TailReader::Run() {
  const auto asked = [](const Shared& shared) { return !shared.questions.empty(); };
  while (!thread_.stopping()) {
    if (!thread_.Await(asked, consumer_ != nullptr ? std::optional(options_.idle) : std::nullopt)) {
      consumer_.reset();
      continue;
    }
    const Question question = thread_.Access([](Shared& shared) {
      Question first = std::move(shared.questions.front());
      shared.questions.pop_front();
      return first;
    });
    Result result = Read(question);
    thread_.Post([&](Shared& shared) { shared.results.push_back(std::move(result)); });
  }
}

// Records read before an error would be valid, but an error is rare and leaves a doubt.
TailReader::Result TailReader::Read(const Question& question) {
  const auto partitions = static_cast<size_t>(question.partitions);
  Result result{
      .topic = question.topic, .partitions = std::vector<StoredEvents>(partitions), .trouble = {}};
  if (const absl::Status read = ReadInto(result); !read.ok()) {
    result.partitions.assign(partitions, StoredEvents());
    result.trouble = MessageOf(read);
  }
  return result;
}

absl::Status TailReader::ReadInto(Result& result) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + options_.timeout;
  const size_t partitions = result.partitions.size();
  if (consumer_ == nullptr) {
    WR_ASSIGN_OR_RETURN(consumer_, StartTailConsumer(make_conf_));
  }
  rd_kafka_t* client = consumer_.get();
  WR_ASSIGN_OR_RETURN(const Tails tails,
                      AwaitTails(client, result.topic, partitions, deadline, thread_.stop_token()));
  if (tails.unknown > 0) {
    result.trouble = fmt::format("topic {}: {} partitions have no leader that answers",
                                 Printable(result.topic, 80), tails.unknown);
  }
  if (tails.ranges.empty()) {
    return absl::OkStatus();
  }
  const absl::Status read =
      ReadRanges(client, tails.ranges, {.deadline = deadline}, thread_.stop_token(),
                 [&](const rd_kafka_message_t& message) {
                   Note(message, result);
                   return absl::OkStatus();
                 });
  if (read.ok()) {
    ReadFurtherBack(tails.ranges, tails.begins, result);
  }
  rd_kafka_assign(client, nullptr);
  WR_RETURN_IF_ERROR(read);
  // Only now: a replica that was in sync earlier may have missed these records.
  WR_ASSIGN_OR_RETURN(const KafkaMetadata after,
                      FetchTopicWith(client, result.topic, partitions, deadline));
  const int unsafe =
      ForgetUnsafe(client, result.topic, *tails.metadata, *after, deadline, result.partitions);
  if (unsafe > 0) {
    result.trouble = fmt::format(
        "topic {}: {} partitions have too few in-sync replicas (min.insync.replicas), or another "
        "leader than before",
        Printable(result.topic, 80), unsafe);
  }
  return absl::OkStatus();
}

void TailReader::Note(const rd_kafka_message_t& message, Result& result) const {
  const auto partition = static_cast<size_t>(message.partition);
  const size_t partitions = result.partitions.size();
  const auto stored = PositionIn(message, result.topic);
  if (stored && partition < partitions) {
    result.partitions[partition].OnRecord(stored->record, stored->partitions, history_,
                                          static_cast<uint32_t>(partitions));
  }
}

// Reads in steps that grow: usually the first one finds a transaction that will not be sent again.
void TailReader::ReadFurtherBack(std::vector<PartitionRange> ranges,
                                 const std::vector<int64_t>& begins, Result& result) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + kFurtherTime;
  absl::Status read = absl::OkStatus();
  for (int64_t left = kFurtherRecords, step = kTailRecords * kFurtherFactor; read.ok();
       step *= kFurtherFactor) {
    std::vector<PartitionRange> older;
    for (PartitionRange& range : ranges) {
      const auto partition = static_cast<size_t>(range.partition);
      if (range.begin > begins[partition] &&
          result.partitions[partition].MayGoFurtherBack(history_.unpublished)) {
        older.push_back(std::move(range));
      }
    }
    const int64_t share =
        older.empty() ? 0 : std::min(step, left / static_cast<int64_t>(older.size()));
    if (share == 0) {
      return;
    }
    for (PartitionRange& range : older) {
      range.end = range.begin;
      range.begin = std::max(begins[static_cast<size_t>(range.partition)], range.end - share);
      left -= range.end - range.begin;
    }
    read = ReadRanges(consumer_.get(), older, {.deadline = deadline}, thread_.stop_token(),
                      [&](const rd_kafka_message_t& message) {
                        Note(message, result);
                        return absl::OkStatus();
                      });
    ranges = std::move(older);
  }
}

}  // namespace walrelay
