#include "kafka/factory/kafka_sink_factory.h"

#include "kafka/admin/progress_topic.h"
#include "kafka/client/conf.h"
#include "kafka/factory/offline_check.h"
#include "kafka/producer/kafka_producer.h"
#include "walrelay/error.h"

namespace walrelay {

SinkLibrary KafkaSinkFactory::Library() {
  return {.name = "librdkafka", .version = LibrdkafkaVersion()};
}

void KafkaSinkFactory::CheckOffline(const OnInvalid& on_invalid) const {
  CheckKafkaOffline(config_, on_invalid);
}

// The configuration is built each time, because librdkafka takes ownership of it, and password
// files are read again with it.
absl::StatusOr<std::unique_ptr<Producer>> KafkaSinkFactory::Make(const ProducerRequest& request) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf,
                      MakeProducerConf(config_.kafka, config_.pipeline, request.max_batch_bytes,
                                       request.transactional_id));
  KafkaProducer::Options options = KafkaProducer::OptionsFor(config_.kafka);
  options.delivery_details = options_.delivery_details;
  options.warn_of_deletion = options_.warn_of_deletion;
  options.reaper = reaper();
  options.on_partitions_changed = options_.on_partitions_changed;
  options.on_topic_created = options_.on_topic_created;
  options.progress = request.progress;
  options.commit_limit = request.commit_limit;
  return KafkaProducer::Create(std::move(conf), options);
}

std::unique_ptr<ProgressTopic> KafkaSinkFactory::OpenProgress(ProgressOptions options) {
  return std::make_unique<KafkaProgressTopic>(
      config_.kafka, options.stop_fd,
      KafkaProgressTopic::Options{.reaper = reaper(),
                                  .patience = options.patience,
                                  .write_timeout = options.write_timeout,
                                  .alive = std::move(options.alive)});
}

}  // namespace walrelay
