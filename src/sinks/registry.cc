#include "sinks/registry.h"

#include <utility>

#include "sinks/kafka/diagnosis/kafka_diagnosis.h"
#include "sinks/kafka/factory/kafka_sink_factory.h"
#include "walrelay/config.h"

namespace walrelay {

std::unique_ptr<SinkFactory> MakeSinkFactory(const Config& config, SinkOptions options) {
  return std::make_unique<KafkaSinkFactory>(config.kafka, config.pipeline, std::move(options));
}

std::unique_ptr<SinkDiagnosis> MakeSinkDiagnosis(const Config& config, Findings& out) {
  return std::make_unique<KafkaDiagnosis>(config, out);
}

std::vector<SinkLibrary> SinkLibraries() {
  return {KafkaSinkFactory::Library()};
}

}  // namespace walrelay
