// The configuration that librdkafka clients are made with.
//
// The guarantees rest on a handful of its properties; those are set here and cannot be overridden.
// Everything else may be, by [kafka.librdkafka], and is checked by librdkafka itself.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kafka/handles.h"
#include "walrelay/config.h"

namespace walrelay {

// Of the library in use: "2.0.2".
std::string LibrdkafkaVersion();
int LibrdkafkaVersionNumber();  // 0x020002ff

// For the producer of one epoch. A batch is one partition's share of a request; the broker measures
// a topic's max.message.bytes against the batch, not against the record. Reads the secrets' files,
// so that each producer has the present ones. Errors: WR-4006 for a property that librdkafka
// refuses or that is ours, WR-1005 for a file.
absl::StatusOr<KafkaConf> MakeProducerConf(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                                           int64_t max_batch_bytes);

// For a consumer without a group, as `check` and the demonstration use it.
absl::StatusOr<KafkaConf> MakeConsumerConf(const KafkaConfig& kafka);

// The value of a property; "" where it is not set. Passwords as they are.
std::string ConfValue(const rd_kafka_conf_t& conf, const char* name);

// A client with this configuration. Errors: WR-4006.
absl::StatusOr<KafkaClient> MakeClient(rd_kafka_type_t type, KafkaConf conf);

// Refuses what would cross the network without TLS. Errors: WR-1006.
absl::Status CheckKafkaTransport(const KafkaConfig& kafka);

}  // namespace walrelay
