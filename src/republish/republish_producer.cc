#include "republish/republish_producer.h"

#include "base/check.h"

namespace walrelay {

ProducerFactory RepublishProducers(SinkFactory& sinks) {
  return [&sinks](const ProducerRequest& request) {
    WR_CHECK(request.transactional_id.empty(), "the relay's transactional id is not claimed");
    return sinks.Make(request);
  };
}

}  // namespace walrelay
