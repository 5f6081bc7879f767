// Checks of the section [kafka] that need no connection.
#pragma once

#include "walrelay/sink_factory.h"

namespace walrelay {

struct KafkaConfig;
struct PipelineConfig;

// Passes on every error of the section that only librdkafka and the files of this machine can tell:
// WR-1003, WR-1005, WR-1006, WR-1009, WR-4006, WR-4013. Reads the files that the section names, but
// connects to nothing and runs no command. An error that no option explains is one of the section,
// "kafka".
void CheckKafkaOffline(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                       const SinkFactory::OnInvalid& on_invalid);

}  // namespace walrelay
