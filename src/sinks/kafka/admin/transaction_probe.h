// Claims a transactional id with a short-lived producer: for `walrelay doctor`.
//
// Only a claim (InitProducerId) shows whether the user may use the id, whether the brokers accept
// the timeout, and whether the transaction coordinator responds.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "walrelay/clock.h"

namespace walrelay {

struct KafkaConfig;
struct PipelineConfig;

// Claims `id` with the relay's settings, and sends no record. REQUIRES: no relay uses `id`: it
// would be fenced. The brokers remember the id for transactional.id.expiration.ms. Blocks for
// little more than `timeout`. Errors: those of MakeProducerConf(); WR-4020 when the id is denied,
// WR-4010 when the brokers' limit is below kafka.transaction_timeout, WR-4019 when the brokers have
// no transactions, WR-4001, WR-4007.
absl::Status ClaimTransactionalId(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                                  const std::string& id, Micros timeout);

}  // namespace walrelay
