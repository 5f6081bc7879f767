// The configuration of librdkafka clients.
//
// walrelay's guarantees depend on a few properties, which are set here and cannot be overridden.
// [kafka.librdkafka] can override all others; librdkafka itself validates them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinks/kafka/client/handles.h"

namespace walrelay {

struct KafkaConfig;
struct PipelineConfig;

// Version of the library in use: "2.0.2".
std::string LibrdkafkaVersion();
// For comparisons; rd_kafka_version() packs the parts into bytes.
int LibrdkafkaVersionNumber();  // 0x020002ff

// The configuration of one producer. A batch is one partition's share of a request; the broker
// compares a topic's max.message.bytes with the batch, not with the record. Reads the secret files,
// so that each producer uses their current contents; obtains no token. Errors: WR-4006 for a
// property that librdkafka rejects or that walrelay reserves, WR-1005 for a file, WR-4013 for a
// login that this build does not support, WR-1003 for a source of tokens that cannot exist.
// REQUIRES: `max_batch_bytes` is in the range of librdkafka's batch.size (else WR-4006). Connects
// to nothing. Debug contexts that would print secrets are rejected.
// Source: librdkafka, CONFIGURATION.md and INTRODUCTION.md ("Idempotent Producer").
// `transactional_id`: "" for a producer without transactions. WR-4019 if this version of librdkafka
// must not be used for transactions.
absl::StatusOr<KafkaConf> MakeProducerConf(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                                           int64_t max_batch_bytes,
                                           const std::string& transactional_id = "");

// The configuration of a consumer without a group, for `check` and the demonstration.
// Commits no offsets and joins no group; reads committed records only, and reports the end of a
// partition. Same errors as for a producer.
absl::StatusOr<KafkaConf> MakeConsumerConf(const KafkaConfig& kafka);

// Creates a client with this configuration. Errors: WR-4006.
// Takes `conf`, also after an error. Starts librdkafka's threads and, for a login with tokens, that
// of the TokenRefresher; does not wait for a broker. Destroying the client waits for those threads.
absl::StatusOr<KafkaClient> MakeClient(rd_kafka_type_t type, KafkaConf conf);

// Creates a client with a copy of this configuration but without brokers, and destroys it:
// librdkafka reads certificates and key stores, and checks the parts of a login against each other,
// only then. Connects to nothing and obtains no token. With GSSAPI the login is not checked,
// because such a client runs kinit. Errors: those of MakeClient().
absl::Status CheckClient(rd_kafka_type_t type, const rd_kafka_conf_t& conf);

// The same for the producer of this pipeline: with pipeline.mode = "exactly_once", one with
// transactions. Errors: those of MakeProducerConf() and MakeClient().
absl::Status CheckProducer(const KafkaConfig& kafka, const PipelineConfig& pipeline);

// Rejects settings that would send data over the network without TLS. Errors: WR-1006.
// Loopback addresses need no TLS. The token endpoint is checked likewise. OK with
// kafka.allow_insecure. Only the bootstrap servers are
// checked: the brokers' addresses are not known yet, but the protocol is the same for all.
absl::Status CheckKafkaTransport(const KafkaConfig& kafka);

}  // namespace walrelay
