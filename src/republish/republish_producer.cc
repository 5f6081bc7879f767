#include "republish/republish_producer.h"

#include <utility>

#include "base/check.h"
#include "kafka/client/conf.h"
#include "kafka/producer/kafka_producer.h"
#include "walrelay/error.h"

namespace walrelay {

ProducerFactory RepublishProducers(const Config& config) {
  return [&config](const ProducerRequest& request) -> absl::StatusOr<std::unique_ptr<Producer>> {
    WR_CHECK(request.transactional_id.empty(), "the relay's transactional id is not claimed");
    WR_ASSIGN_OR_RETURN(KafkaConf conf,
                        MakeProducerConf(config.kafka, config.pipeline, request.max_batch_bytes));
    return KafkaProducer::Create(std::move(conf), KafkaProducer::OptionsFor(config.kafka));
  };
}

}  // namespace walrelay
