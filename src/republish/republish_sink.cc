#include "republish/republish_sink.h"

#include "base/check.h"

namespace walrelay {

SinkMaker RepublishSinks(SinkFactory& sinks) {
  return [&sinks](const SinkRequest& request) {
    WR_CHECK(request.transactional_id.empty(), "the relay's transactional id is not claimed");
    return sinks.Make(request);
  };
}

}  // namespace walrelay
