// `walrelay doctor --write-probe TOPIC`: the only part of doctor that writes.
#pragma once

#include <string>

#include "findings/findings.h"

namespace walrelay {

struct ErrorPolicy;
struct KafkaConfig;
struct PipelineConfig;

// Writes one record to `topic`, which remains there. An invalid name is a finding (WR-3005) and
// writes nothing. Blocks for at most ten seconds, and at most twenty more to determine the cause
// if no broker acknowledges the record. Brokers may create the topic.
void CheckWriting(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                  const ErrorPolicy& on_error, const std::string& topic, Findings& out);

}  // namespace walrelay
