// A topic of which Kafka keeps the last record of each key: one partition, compacted.
//
// Source: Kafka documentation, "Log Compaction" and "Topic Configs".
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <stop_token>
#include <string>

#include "absl/status/status.h"

namespace walrelay {

enum class MissingTopic { kCreate, kReport };

// Creates the topic if it does not exist, with the brokers' default replication factor, and waits
// until its partition has a leader; with kReport, nothing is created: WR-4018. An existing topic is
// checked: the number of partitions and, if the user may read settings, cleanup.policy. Blocks
// until the deadline; after a request to stop, until the request in flight is answered. Errors:
// WR-4015 for an existing topic that does not keep its records, WR-4005 and WR-4016 if it cannot be
// created, WR-4014 if there are too few brokers for its replicas, WR-3005; WR-4001, WR-4007,
// WR-4012; kCancelled. REQUIRES: `client` is a consumer, whose requests create no topics, with the
// event RD_KAFKA_EVENT_ERROR.
absl::Status EnsureCompactedTopic(rd_kafka_t* client, const std::string& topic,
                                  MissingTopic missing,
                                  std::chrono::steady_clock::time_point deadline,
                                  const std::stop_token& stop);

}  // namespace walrelay
