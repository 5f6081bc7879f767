// Writes a single record and waits for its acknowledgement: for `walrelay doctor` and
// `walrelay progress`.
//
// `doctor` tests write access by writing: librdkafka 2.0.2 cannot query the operations that a user
// is authorised for, and listing ACLs needs a cluster-level privilege that a producer does not
// have.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/record.h"

namespace walrelay {

struct KafkaConfig;
struct PipelineConfig;

// Waits until the brokers have assigned a producer id to a producer like the relay's, without which
// it sends nothing. Requires IDEMPOTENT_WRITE, or since Kafka 2.8 WRITE on any topic. Writes
// nothing. Errors: WR-4005 when that is denied, WR-4001, WR-4006, WR-4007, WR-4002.
absl::Status RequestProducerId(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                               Micros timeout);

// Where a record was stored.
struct WrittenRecord {
  int32_t partition = -1;
  int64_t offset = -1;
  Micros took{0};  // from Produce() to the acknowledgement
};

// Sends one record with the relay's own producer and settings, and waits for its acknowledgement.
// A topic that does not exist is created if the brokers do so. Blocks for at most twice `timeout`.
// Errors: as above; of the topic WR-3005, WR-4003, WR-4004, WR-4005, WR-4009, and WR-4008 when
// there was no acknowledgement in time.
absl::StatusOr<WrittenRecord> WriteRecord(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                                          const Record& record, Micros timeout);

// The same for the record with which `doctor` tests a topic: key "walrelay-doctor", header
// "walrelay.write_probe" with walrelay's version, and no value, which consumers see as a tombstone.
absl::StatusOr<WrittenRecord> WriteProbe(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                                         const std::string& topic, Micros timeout);

}  // namespace walrelay
