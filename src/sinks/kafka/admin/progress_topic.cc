#include "sinks/kafka/admin/progress_topic.h"

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
#include "sinks/kafka/admin/record_writer.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/topics/compacted_topic.h"
#include "sinks/kafka/topics/progress_error.h"
#include "sinks/kafka/topics/progress_tail.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr size_t kMostTopicsOfSlot = 16;
constexpr int kListMillis = 5'000;
constexpr int kAliveMillis = 1'000;

absl::StatusOr<ProgressReading> ReadLatest(ProgressConsumer& consumer,
                                           const ProgressAddress& address, MissingTopic missing,
                                           Micros patience, const std::stop_token& stop) {
  WR_RETURN_IF_ERROR(EnsureCompactedTopic(consumer.client(), address.topic, missing,
                                          std::chrono::steady_clock::now() + patience, stop));
  return ReadProgressTail(consumer.client(), consumer, address, patience, stop);
}

// The default topics of pipelines with this slot: their names end with it.
absl::StatusOr<std::vector<Progress>> ReadTopicsOfSlot(ProgressConsumer& consumer,
                                                       std::string_view slot, SteadyTime deadline,
                                                       const std::stop_token& stop) {
  rd_kafka_t* const client = consumer.client();
  const struct rd_kafka_metadata* found = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(client, /*all_topics=*/1, nullptr, &found, kListMillis);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return LastClientError(client, error);
  }
  const KafkaMetadata metadata(found);
  const std::string suffix = fmt::format(".{}", slot);
  std::vector<Progress> records;
  for (int i = 0; i < metadata->topic_cnt && records.size() < kMostTopicsOfSlot; ++i) {
    const std::string topic = metadata->topics[i].topic;
    if (!topic.starts_with(kProgressTopicPrefix) || !topic.ends_with(suffix)) {
      continue;
    }
    const auto left = std::chrono::duration_cast<Micros>(deadline - SteadyTime::clock::now());
    auto reading = ReadProgressTail(
        client, consumer, {.topic = topic, .pipeline = topic.substr(kProgressTopicPrefix.size())},
        std::max(left, Micros(0)), stop);
    if (reading.ok() && reading->record) {
      records.push_back(*std::move(reading->record));
    }
  }
  return records;
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

  // kCancelled if `stop_fd` becomes readable first. Calls `alive` about once a second. Call it
  // once.
  absl::StatusOr<Result> Wait(int stop_fd, const std::function<void()>& alive) {
    pollfd events[] = {{done_.fd(), POLLIN, 0}, {stop_fd, POLLIN, 0}};
    while (::poll(events, std::size(events), kAliveMillis) <= 0) {  // or interrupted by a signal
      if (alive) {
        alive();
      }
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
                            int stop_fd, const KafkaProgressTopic::Options& options) {
  auto call = std::make_unique<ProgressCall<Result>>(std::move(body));
  absl::StatusOr<Result> result = call->Wait(stop_fd, options.alive);
  if (options.reaper != nullptr) {
    options.reaper->Destroy(std::move(call));
  }
  if (!result.ok() && !absl::IsCancelled(result.status())) {
    return AboutProgress(result.status(), topic);
  }
  return result;
}

// Shared, because a function object must be copyable. The call owns it alone, so that it is not
// closed on the caller's thread.
absl::StatusOr<std::shared_ptr<ProgressConsumer>> MakeReader(const KafkaConfig& kafka,
                                                             const char* isolation) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeProgressConf(kafka));
  rd_kafka_conf_set(conf.get(), "isolation.level", isolation, nullptr, 0);
  return ProgressConsumer::Create(std::move(conf));
}

}  // namespace

absl::StatusOr<ProgressReading> KafkaProgressTopic::Read(const ProgressAddress& address) {
  return Read(address, MissingTopic::kCreate);
}

absl::StatusOr<ProgressReading> KafkaProgressTopic::ReadExisting(const ProgressAddress& address) {
  return Read(address, MissingTopic::kReport);
}

absl::StatusOr<ProgressReading> KafkaProgressTopic::Read(const ProgressAddress& address,
                                                         MissingTopic missing) {
  WR_ASSIGN_OR_RETURN(auto consumer, MakeReader(kafka_, "read_committed"));
  return Call<ProgressReading>(
      [consumer = std::move(consumer), address, missing,
       patience = options_.patience](const std::stop_token& stop) {
        return ReadLatest(*consumer, address, missing, patience, stop);
      },
      address.topic, stop_fd_, options_);
}

std::vector<Progress> KafkaProgressTopic::ReadOfSlot(std::string_view slot) {
  auto consumer = MakeReader(kafka_, "read_committed");
  if (!consumer.ok()) {
    return {};
  }
  auto records = Call<std::vector<Progress>>(
      [consumer = *std::move(consumer), slot = std::string(slot),
       patience = options_.patience](const std::stop_token& stop) {
        return ReadTopicsOfSlot(*consumer, slot, SteadyTime::clock::now() + patience, stop);
      },
      std::string(kProgressTopicPrefix), stop_fd_, options_);
  return records.ok() ? *std::move(records) : std::vector<Progress>();
}

absl::StatusOr<bool> KafkaProgressTopic::IsSettled(const std::string& topic) {
  WR_ASSIGN_OR_RETURN(auto uncommitted, MakeReader(kafka_, "read_uncommitted"));
  WR_ASSIGN_OR_RETURN(auto committed, MakeReader(kafka_, "read_committed"));
  return Call<bool>(
      [uncommitted = std::move(uncommitted), committed = std::move(committed), topic,
       patience = options_.patience](const std::stop_token& stop) {
        return TransactionsHaveEnded(uncommitted->client(), committed->client(), topic,
                                     SteadyTime::clock::now() + patience, stop);
      },
      topic, stop_fd_, options_);
}

absl::Status KafkaProgressTopic::Write(const ProgressAddress& address, const Progress& record) {
  return Call<bool>(
             [kafka = kafka_, address, record, timeout = options_.write_timeout](
                 const std::stop_token& /*stop*/) -> absl::StatusOr<bool> {
               WR_RETURN_IF_ERROR(
                   WriteProgress(kafka, PipelineConfig(), address.topic, record, timeout));
               return true;
             },
             address.topic, stop_fd_, options_)
      .status();
}

absl::Status WriteProgress(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                           const std::string& topic, const Progress& progress, Micros timeout) {
  const std::string value = EncodeProgress(progress);
  const Header header{kProgressFormatHeader, kProgressFormat};
  return AboutProgress(WriteRecord(kafka, pipeline,
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
