// Checks of pipeline.mode = "exactly_once": the library, the transactional id, the brokers.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "findings/findings.h"
#include "sinks/kafka/admin/broker_settings.h"
#include "sinks/kafka/topics/topic_info.h"

namespace walrelay {

struct KafkaConfig;
struct PipelineConfig;
struct SourceConfig;

// Claims a transactional id of its own, "walrelay.<pipeline.id>.doctor", which no relay uses, and
// sends no record. `database`: "" if it is unknown; then the id is not claimed unless pipeline.id
// is set. Blocks for at most half a minute. REQUIRES: the delivery is exactly once, and the cluster
// responds.
void CheckTransactions(const SourceConfig& source, const KafkaConfig& kafka,
                       const PipelineConfig& pipeline, std::string_view database, Depth depth,
                       Findings& out);

// --- the parts of CheckTransactions() that need no server

// Whether this version of librdkafka is accepted (LibrdkafkaVersionNumber()).
void CheckTransactionLibrary(int version, Findings& out);
// Reports the result of the claim of the id "walrelay.<pipeline>.doctor".
void CheckTransactionClaim(const absl::Status& claim, std::string_view pipeline, Findings& out);
// Whether the brokers accept kafka.transaction_timeout. No finding if the claim has shown it.
void CheckTransactionTimeout(const KafkaConfig& kafka, const BrokerSettings& settings,
                             Findings& out);
// Whether transactions survive the loss of a broker. `log`: the topic of the transaction
// coordinators, nullopt if this user may not see it. `brokers`: of the cluster.
void CheckTransactionLog(const std::optional<TopicInfo>& log, size_t brokers, Findings& out);

}  // namespace walrelay
