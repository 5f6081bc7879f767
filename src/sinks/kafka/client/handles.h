// Owning handles for librdkafka objects: each type destroys its object.
//
// A client that logs in with tokens has a thread that refreshes them, which ends before the client.
//
// Each type has its own destroy function in C, and calling the wrong one is not a compile error.
// Handles are destroyed before the client that they belong to.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

#include "auth/token_source.h"
#include "base/destroy_with.h"
#include "sinks/kafka/client/token_refresher.h"

namespace walrelay {

// The configuration of a client, with the tokens that it logs in with.
struct KafkaConf : std::unique_ptr<rd_kafka_conf_t, DestroyWith<&rd_kafka_conf_destroy>> {
  using unique_ptr::unique_ptr;
  TokenLogin tokens;  // without a source: another login
};

struct DestroyClient {
  void operator()(rd_kafka_t* client) {
    tokens.reset();  // uses the client
    rd_kafka_destroy(client);
  }

  std::unique_ptr<TokenRefresher> tokens;  // nullptr: another login
};
using KafkaClient = std::unique_ptr<rd_kafka_t, DestroyClient>;
using KafkaTopic = std::unique_ptr<rd_kafka_topic_t, DestroyWith<&rd_kafka_topic_destroy>>;
using KafkaQueue = std::unique_ptr<rd_kafka_queue_t, DestroyWith<&rd_kafka_queue_destroy>>;
using KafkaEvent = std::unique_ptr<rd_kafka_event_t, DestroyWith<&rd_kafka_event_destroy>>;
using KafkaError = std::unique_ptr<rd_kafka_error_t, DestroyWith<&rd_kafka_error_destroy>>;
using KafkaMessage = std::unique_ptr<rd_kafka_message_t, DestroyWith<&rd_kafka_message_destroy>>;
using KafkaHeaders = std::unique_ptr<rd_kafka_headers_t, DestroyWith<&rd_kafka_headers_destroy>>;
using KafkaPartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t,
                                           DestroyWith<&rd_kafka_topic_partition_list_destroy>>;
using KafkaMetadata =
    std::unique_ptr<const struct rd_kafka_metadata, DestroyWith<&rd_kafka_metadata_destroy>>;

}  // namespace walrelay
