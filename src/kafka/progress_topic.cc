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
#include "kafka/compacted_topic.h"
#include "kafka/conf.h"
#include "kafka/handles.h"
#include "kafka/partition_range.h"
#include "kafka/record_writer.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
using MaybeProgress = std::optional<Progress>;

constexpr int kQueryMillis = 2'000;

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

// The record that counts among those of a partition.
absl::Status TakeRecord(const rd_kafka_message_t& message, MaybeProgress& latest) {
  if (message.payload == nullptr) {
    return absl::OkStatus();  // a tombstone
  }
  auto progress = DecodeProgress({static_cast<const char*>(message.payload), message.len});
  if (!progress.ok()) {
    return Annotate(
        progress.status(),
        fmt::format("topic {}, offset {}", rd_kafka_topic_name(message.rkt), message.offset));
  }
  if (!latest || progress->Order() >= latest->Order()) {
    latest = *std::move(progress);
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
absl::StatusOr<MaybeProgress> ReadToEnd(rd_kafka_t* client, rd_kafka_t* reader,
                                        const std::string& topic, SteadyTime deadline,
                                        const std::stop_token& stop) {
  WR_ASSIGN_OR_RETURN(const PartitionRange range, AwaitRange(client, topic, deadline, stop));
  MaybeProgress latest;
  WR_RETURN_IF_ERROR(
      ReadRanges(reader, {range}, deadline, stop,
                 [&](const rd_kafka_message_t& message) { return TakeRecord(message, latest); }));
  return latest;
}

absl::StatusOr<MaybeProgress> ReadLatest(rd_kafka_t* client, const std::string& topic,
                                         MissingTopic missing, SteadyTime deadline,
                                         const std::stop_token& stop) {
  WR_RETURN_IF_ERROR(EnsureCompactedTopic(client, topic, missing, deadline, stop));
  return ReadToEnd(client, client, topic, deadline, stop);
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

absl::StatusOr<std::optional<Progress>> KafkaProgressReader::Read(const std::string& topic) {
  return Read(topic, MissingTopic::kCreate);
}

absl::StatusOr<std::optional<Progress>> KafkaProgressReader::ReadExisting(
    const std::string& topic) {
  return Read(topic, MissingTopic::kReport);
}

absl::StatusOr<std::optional<Progress>> KafkaProgressReader::Read(const std::string& topic,
                                                                  MissingTopic missing) {
  WR_ASSIGN_OR_RETURN(auto client, MakeReader(kafka_, "read_committed"));
  return Call<MaybeProgress>(
      [client = std::move(client), topic, missing,
       timeout = timeout_](const std::stop_token& stop) {
        return ReadLatest(client->get(), topic, missing, std::chrono::steady_clock::now() + timeout,
                          stop);
      },
      topic, stop_fd_, reaper_);
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

absl::StatusOr<std::optional<Progress>> ReadProgress(rd_kafka_t* client, rd_kafka_t* reader,
                                                     const std::string& topic, SteadyTime deadline,
                                                     const std::stop_token& stop) {
  // The reader's own request for the topic: an assignment would wait for a timer of one second.
  const KafkaTopic handle(rd_kafka_topic_new(reader, topic.c_str(), nullptr));
  const struct rd_kafka_metadata* found = nullptr;
  if (rd_kafka_metadata(reader, /*all_topics=*/0, handle.get(), &found, kQueryMillis) ==
      RD_KAFKA_RESP_ERR_NO_ERROR) {
    rd_kafka_metadata_destroy(found);
  }
  absl::StatusOr<MaybeProgress> result = ReadToEnd(client, reader, topic, deadline, stop);
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
