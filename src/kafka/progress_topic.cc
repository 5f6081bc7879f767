#include "kafka/progress_topic.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/stop_request.h"
#include "base/text.h"
#include "encode/progress_codec.h"
#include "kafka/cluster_info.h"
#include "kafka/compacted_topic.h"
#include "kafka/conf.h"
#include "kafka/delivery_error.h"
#include "kafka/handles.h"
#include "kafka/partition_range.h"
#include "kafka/record_writer.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr int kQueryMillis = 2'000;
// Of other pipelines: only the one before a change of the id matters.
constexpr size_t kMostOthers = 16;
constexpr int kListMillis = 5'000;

std::string ProgressAclRemedy(std::string_view topic) {
  return fmt::format(
      "kafka-acls.sh --bootstrap-server BROKER --add --allow-principal User:NAME --operation "
      "Create --operation Describe --operation DescribeConfigs --operation Read --operation Write "
      "--topic {}  (DescribeConfigs is optional; no group is needed)",
      Printable(topic, 80));
}

// The catalogue's entries of the other codes are about events and their topics.
absl::Status AboutProgress(const absl::Status& error, std::string_view topic) {
  if (error.ok()) {
    return error;
  }
  switch (CodeOf(error)) {
    case ErrorCode::kTopicDenied:
      return Error(ErrorCode::kProgressDenied, MessageOf(error), ProgressAclRemedy(topic));
    case ErrorCode::kTopicInvalid:
      return Error(ErrorCode::kProgressTopicInvalid, MessageOf(error));
    case ErrorCode::kTopicUnknown:  // deleted meanwhile: another attempt creates it
      return Error(ErrorCode::kKafkaUnreachable, MessageOf(error));
    default:
      return error;
  }
}

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
                        ProgressReading& reading) {
  if (message.payload == nullptr) {
    return absl::OkStatus();  // a tombstone
  }
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

// In several requests: a single one could not be interrupted.
absl::StatusOr<PartitionRange> AwaitRange(rd_kafka_t* client, const std::string& topic,
                                          SteadyTime deadline, const std::stop_token& stop) {
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

// `client` decides what the end is: the last stable offset, before which every transaction has
// ended, or the high watermark.
absl::StatusOr<ProgressReading> ReadToEnd(rd_kafka_t* client, rd_kafka_t* reader,
                                          const ProgressAddress& address, SteadyTime deadline,
                                          const std::stop_token& stop) {
  WR_ASSIGN_OR_RETURN(const PartitionRange range,
                      AwaitRange(client, address.topic, deadline, stop));
  ProgressReading reading;
  WR_RETURN_IF_ERROR(
      ReadRanges(reader, {range}, deadline, stop, [&](const rd_kafka_message_t& message) {
        return TakeRecord(message, address.pipeline, reading);
      }));
  reading.cluster_id = ClusterIdOf(client);
  return reading;
}

absl::StatusOr<ProgressReading> ReadLatest(rd_kafka_t* client, const ProgressAddress& address,
                                           MissingTopic missing, SteadyTime deadline,
                                           const std::stop_token& stop) {
  WR_RETURN_IF_ERROR(EnsureCompactedTopic(client, address.topic, missing, deadline, stop));
  return ReadToEnd(client, client, address, deadline, stop);
}

// The default topics of pipelines with this slot: their names end with it.
absl::StatusOr<std::vector<Progress>> ReadTopicsOfSlot(rd_kafka_t* client, std::string_view slot,
                                                       SteadyTime deadline,
                                                       const std::stop_token& stop) {
  const struct rd_kafka_metadata* found = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(client, /*all_topics=*/1, nullptr, &found, kListMillis);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return LastClientError(client, error);
  }
  const KafkaMetadata metadata(found);
  const std::string suffix = fmt::format(".{}", slot);
  std::vector<Progress> records;
  for (int i = 0; i < metadata->topic_cnt && records.size() < kMostOthers; ++i) {
    const std::string topic = metadata->topics[i].topic;
    if (!topic.starts_with(kProgressTopicPrefix) || !topic.ends_with(suffix)) {
      continue;
    }
    auto reading = ReadToEnd(
        client, client, {.topic = topic, .pipeline = topic.substr(kProgressTopicPrefix.size())},
        deadline, stop);
    if (reading.ok() && reading->record) {
      records.push_back(*std::move(reading->record));
    }
  }
  return records;
}

// The open transactions are those between the two ends. The one that does not count them is read
// last.
absl::StatusOr<bool> EndsAgree(rd_kafka_t* uncommitted, rd_kafka_t* committed,
                               const std::string& topic, SteadyTime deadline,
                               const std::stop_token& stop) {
  WR_ASSIGN_OR_RETURN(const PartitionRange all, AwaitRange(uncommitted, topic, deadline, stop));
  WR_ASSIGN_OR_RETURN(const PartitionRange ended, AwaitRange(committed, topic, deadline, stop));
  return ended.end >= all.end;
}

// One call of a reader, with the clients and the thread that it uses.
template <typename Result>
class ProgressCall {
 public:
  using Body = std::function<absl::StatusOr<Result>(const std::stop_token&)>;

  explicit ProgressCall(Body body)
      : body_(std::move(body)), thread_(InLogScope([this] {
          result_ = body_(stop_.get_token());
          done_.Request();
        })) {}
  // Waits for the request in flight.
  ~ProgressCall() {
    stop_.request_stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  ProgressCall(const ProgressCall&) = delete;
  ProgressCall& operator=(const ProgressCall&) = delete;

  // kCancelled if `stop_fd` becomes readable first. Call it once.
  absl::StatusOr<Result> Wait(int stop_fd) {
    pollfd events[] = {{done_.fd(), POLLIN, 0}, {stop_fd, POLLIN, 0}};
    while (::poll(events, std::size(events), -1) < 0) {  // interrupted by a signal
    }
    if (events[1].revents != 0) {
      return absl::CancelledError("the process is stopping");
    }
    thread_.join();
    return std::move(result_);
  }

 private:
  const Body body_;
  std::stop_source stop_;
  StopRequest done_;               // the last action of the thread
  absl::StatusOr<Result> result_;  // the thread's, until it has ended
  std::thread thread_;             // last: starts when all other members are initialised
};

// Runs `body` until it ends, or the process is to stop. With a reaper, it does not wait for the
// clients to be closed.
template <typename Result>
absl::StatusOr<Result> Call(typename ProgressCall<Result>::Body body, const std::string& topic,
                            int stop_fd, Reaper* reaper) {
  auto call = std::make_unique<ProgressCall<Result>>(std::move(body));
  absl::StatusOr<Result> result = call->Wait(stop_fd);
  if (reaper != nullptr) {
    reaper->Destroy(std::move(call));
  }
  if (!result.ok() && !absl::IsCancelled(result.status())) {
    return AboutProgress(result.status(), topic);
  }
  return result;
}

// Shared, because a function object must be copyable. The call owns it alone, so that it is not
// closed on the caller's thread.
absl::StatusOr<std::shared_ptr<KafkaClient>> MakeReader(const KafkaConfig& kafka,
                                                        const char* isolation) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeProgressConf(kafka));
  rd_kafka_conf_set(conf.get(), "isolation.level", isolation, nullptr, 0);
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_ERROR);
  WR_ASSIGN_OR_RETURN(KafkaClient client, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
  return std::make_shared<KafkaClient>(std::move(client));
}

}  // namespace

// The last offset of the topic is that of a transaction's marker: brokers hold a request for the
// records behind it for this long.
absl::StatusOr<KafkaConf> MakeProgressConf(const KafkaConfig& kafka) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeConsumerConf(kafka));
  rd_kafka_conf_set(conf.get(), "fetch.wait.max.ms", "10", nullptr, 0);
  rd_kafka_conf_set_events(conf.get(), RD_KAFKA_EVENT_ERROR);
  return conf;
}

absl::StatusOr<ProgressReading> KafkaProgressReader::Read(const ProgressAddress& address) {
  return Read(address, MissingTopic::kCreate);
}

absl::StatusOr<ProgressReading> KafkaProgressReader::ReadExisting(const ProgressAddress& address) {
  return Read(address, MissingTopic::kReport);
}

absl::StatusOr<ProgressReading> KafkaProgressReader::Read(const ProgressAddress& address,
                                                          MissingTopic missing) {
  WR_ASSIGN_OR_RETURN(auto client, MakeReader(kafka_, "read_committed"));
  return Call<ProgressReading>(
      [client = std::move(client), address, missing,
       timeout = timeout_](const std::stop_token& stop) {
        return ReadLatest(client->get(), address, missing,
                          std::chrono::steady_clock::now() + timeout, stop);
      },
      address.topic, stop_fd_, reaper_);
}

std::vector<Progress> KafkaProgressReader::ReadOfSlot(std::string_view slot) {
  auto client = MakeReader(kafka_, "read_committed");
  if (!client.ok()) {
    return {};
  }
  auto records = Call<std::vector<Progress>>(
      [client = *std::move(client), slot = std::string(slot),
       timeout = timeout_](const std::stop_token& stop) {
        return ReadTopicsOfSlot(client->get(), slot, std::chrono::steady_clock::now() + timeout,
                                stop);
      },
      std::string(kProgressTopicPrefix), stop_fd_, reaper_);
  return records.ok() ? *std::move(records) : std::vector<Progress>();
}

absl::StatusOr<bool> KafkaProgressReader::IsSettled(const std::string& topic) {
  WR_ASSIGN_OR_RETURN(auto uncommitted, MakeReader(kafka_, "read_uncommitted"));
  WR_ASSIGN_OR_RETURN(auto committed, MakeReader(kafka_, "read_committed"));
  return Call<bool>(
      [uncommitted = std::move(uncommitted), committed = std::move(committed), topic,
       timeout = timeout_](const std::stop_token& stop) {
        return EndsAgree(uncommitted->get(), committed->get(), topic,
                         std::chrono::steady_clock::now() + timeout, stop);
      },
      topic, stop_fd_, reaper_);
}

absl::StatusOr<ProgressReading> ReadProgress(rd_kafka_t* client, rd_kafka_t* reader,
                                             const ProgressAddress& address, SteadyTime deadline,
                                             const std::stop_token& stop) {
  const std::string& topic = address.topic;
  // The reader's own request for the topic: an assignment would wait for a timer of one second.
  const KafkaTopic handle(rd_kafka_topic_new(reader, topic.c_str(), nullptr));
  const struct rd_kafka_metadata* found = nullptr;
  if (rd_kafka_metadata(reader, /*all_topics=*/0, handle.get(), &found, kQueryMillis) ==
      RD_KAFKA_RESP_ERR_NO_ERROR) {
    rd_kafka_metadata_destroy(found);
  }
  absl::StatusOr<ProgressReading> result = ReadToEnd(client, reader, address, deadline, stop);
  if (HasCode(result.status(), ErrorCode::kKafkaUnreachable)) {
    // Brokers may answer, but withhold what is behind an open transaction.
    const SteadyTime soon =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(kQueryMillis);
    const auto settled = EndsAgree(client, reader, topic, soon, stop);
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

absl::Status WriteProgress(const Config& config, const std::string& topic, const Progress& progress,
                           Micros timeout) {
  const std::string value = EncodeProgress(progress);
  const Header header{kProgressFormatHeader, kProgressFormat};
  return AboutProgress(WriteRecord(config,
                                   {.topic = topic,
                                    .key = progress.pipeline,
                                    .value = value,
                                    .headers = {&header, 1},
                                    .partition = 0},
                                   timeout)
                           .status(),
                       topic);
}

}  // namespace walrelay
