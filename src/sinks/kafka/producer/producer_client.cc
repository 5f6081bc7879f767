#include "sinks/kafka/producer/producer_client.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/system_clock.h"
#include "sinks/kafka/client/cluster_info.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/conf_property.h"
#include "sinks/kafka/topics/topic_creation.h"
#include "walrelay/error.h"
#include "walrelay/secret.h"

namespace walrelay {
namespace {

// The certificate files that a client with this configuration reads when it is created. "probe" is
// not a file: librdkafka then looks for the system's certificates.
std::vector<std::string> CertificateFiles(const rd_kafka_conf_t& conf) {
  std::vector<std::string> files;
  for (const char* name : {"ssl.ca.location", "ssl.certificate.location", "ssl.key.location",
                           "ssl.keystore.location", "ssl.crl.location"}) {
    if (std::string path = ConfValue(conf, name); !path.empty() && path != "probe") {
      files.push_back(std::move(path));
    }
  }
  return files;
}

// The configured refresh interval; librdkafka's default is five minutes.
Micros RefreshIntervalOf(const rd_kafka_conf_t& conf) {
  const int64_t millis = std::atoll(ConfValue(conf, "topic.metadata.refresh.interval.ms").c_str());
  return millis > 0 ? std::chrono::milliseconds(millis) : Micros::max();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProducerClient>> ProducerClient::Create(
    KafkaConf conf, const ProducerOptions& options) {
  const Micros refresh_interval = std::min(options.refresh_interval, RefreshIntervalOf(*conf));
  auto client = std::make_unique<ProducerClient>();
  client->wakeup = UniqueFd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!client->wakeup.valid()) {
    return Error(ErrorCode::kInternal, fmt::format("eventfd: {}", std::strerror(errno)));
  }
  // Before the client reads the certificates, so that a change in between is detected.
  client->credentials = std::make_unique<CredentialWatch>(
      CredentialFiles{.password = options.password_file,
                      .key_password = options.key_password_file,
                      .certificates = CertificateFiles(*conf)},
      CredentialWatch::Credentials{.username = ConfValue(*conf, "sasl.username"),
                                   .password = Secret(ConfValue(*conf, "sasl.password")),
                                   .key_password = Secret(ConfValue(*conf, "ssl.key.password"))},
      options.sample_interval);
  client->max_record_bytes =
      static_cast<size_t>(std::atoll(ConfValue(*conf, "message.max.bytes").c_str()));
  client->request_timeout =
      std::chrono::milliseconds(std::atoll(ConfValue(*conf, "socket.timeout.ms").c_str()));
  const std::string transactional_id = ConfValue(*conf, "transactional.id");
  // librdkafka before 2.13 frees the interceptors twice if the client cannot be created (5240).
  WR_RETURN_IF_ERROR(CheckClient(RD_KAFKA_PRODUCER, *conf));
  if (transactional_id.empty()) {
    client->acknowledgements.Attach(conf.get());
  } else {
    client->watch.Attach(conf.get());
  }
  WR_ASSIGN_OR_RETURN(client->handle, MakeClient(RD_KAFKA_PRODUCER, std::move(conf)));
  client->queue.reset(rd_kafka_queue_get_main(client->handle.get()));
  client->credentials->Start(client->handle.get());
  client->metadata_fetcher =
      std::make_unique<TopicMetadataFetcher>(client->handle.get(), client->wakeup.get());
  // Not a pointer to the options: with a reaper the client outlives them.
  client->creator = std::make_unique<TopicCreator>(
      [handle = client->handle.get(), queue = client->queue.get(), topics = options.topics](
          std::span<const std::string> names) { RequestTopics(handle, queue, topics, names); },
      /*seed=*/reinterpret_cast<uintptr_t>(client.get()));
  client->topics = std::make_unique<TopicTable>(
      client->handle.get(), *client->metadata_fetcher, *client->creator,
      TopicTable::Options{.refresh_interval = refresh_interval,
                          .topics = options.topics,
                          .on_partitions_changed = options.on_partitions_changed,
                          .on_topic_created = options.on_topic_created},
      SystemClock().Now());
  if (options.consumer_conf) {
    client->examiner = std::make_unique<ClientExaminer>(
        [handle = client->handle.get()] { return DescribeState(handle); }, client->wakeup.get(),
        options.consumer_conf);
  }
  if (!transactional_id.empty()) {
    client->transactions = std::make_unique<TransactionThread>(
        client->handle.get(), client->watch, client->wakeup.get(),
        TransactionThread::Options{
            .transactional_id = transactional_id,
            .progress = options.progress,
            .progress_conf = options.progress_conf,
            .reuse_after_repeated_commit = options.reuse_after_repeated_commit});
  }
  // librdkafka writes these eight bytes: an eventfd increment of one.
  static constexpr uint64_t kOne = 1;
  rd_kafka_queue_io_event_enable(client->queue.get(), client->wakeup.get(), &kOne, sizeof(kOne));
  return client;
}

void ProducerClient::Purge() {
  rd_kafka_purge(handle.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                   RD_KAFKA_PURGE_F_NON_BLOCKING);
}

void ProducerClient::Stop() {
  // First: librdkafka must not write to the eventfd after it is closed.
  rd_kafka_queue_io_event_enable(queue.get(), -1, nullptr, 0);
  Purge();  // the next producer sends these records again
  metadata_fetcher->Stop();
  if (tails != nullptr) {
    tails->Stop();
  }
  if (transactions != nullptr) {
    transactions->Stop();
  }
  if (examiner != nullptr) {
    examiner->Stop();
  }
  credentials->Stop();
}

}  // namespace walrelay
