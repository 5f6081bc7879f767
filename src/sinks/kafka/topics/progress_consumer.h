// ProgressConsumer: a consumer of the progress topic, which counts what it has fetched.
//
// Most of a topic may be markers of transactions, which librdkafka does not hand out: only the
// answers of the brokers show that reading advances.
//
// Threads: librdkafka's broker threads count; fetched() may be called on any thread.
// Source: rdkafka.h, rd_kafka_interceptor_f_on_response_received_t; Kafka protocol, Fetch.
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/handles.h"

namespace walrelay {

struct KafkaConfig;

// The configuration of a consumer that reads the progress topic. Errors: those of
// MakeConsumerConf().
absl::StatusOr<KafkaConf> MakeProgressConf(const KafkaConfig& kafka);

class ProgressConsumer {
 public:
  // Takes `conf`, one of MakeProgressConf(). Errors: those of MakeClient().
  static absl::StatusOr<std::unique_ptr<ProgressConsumer>> Create(KafkaConf conf);

  ProgressConsumer(const ProgressConsumer&) = delete;
  ProgressConsumer& operator=(const ProgressConsumer&) = delete;

  rd_kafka_t* client() const { return client_.get(); }
  // Bytes that brokers have sent with records or markers, since the start.
  uint64_t fetched() const { return fetched_.load(); }

  // An answer was received completely. Called by the client.
  void OnAnswered(int16_t api_key, size_t size);

 private:
  ProgressConsumer() = default;

  std::atomic<uint64_t> fetched_{0};
  KafkaClient client_;  // last: its threads count
};

}  // namespace walrelay
