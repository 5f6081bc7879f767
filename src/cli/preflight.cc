#include "cli/preflight.h"

#include "kafka/conf.h"
#include "postgres/connection_parameters.h"
#include "route/topic_name.h"
#include "route/topic_router.h"
#include "walrelay/error.h"

namespace walrelay {

// By building what `run` builds: librdkafka's own parser judges its options, and the router's the
// template.
absl::Status CheckOffline(const Config& config) {
  WR_RETURN_IF_ERROR(CheckPostgresTransport(config.source));
  WR_RETURN_IF_ERROR(MakeConnectionParameters(config.source, ConnectionPurpose::kSql).status());
  WR_RETURN_IF_ERROR(CheckKafkaTransport(config.kafka));
  WR_RETURN_IF_ERROR(
      MakeProducerConf(config.kafka, config.pipeline, config.kafka.max_batch_bytes).status());
  // The dead-letter topic is the only topic whose name no row decides, so it can be checked now.
  if (!config.on_error.dead_letter_topic.empty()) {
    WR_RETURN_IF_ERROR(
        Annotate(CheckTopicName(config.on_error.dead_letter_topic), "on_error.dead_letter_topic"));
  }
  return TopicRouter::Create(config.route).status();
}

}  // namespace walrelay
