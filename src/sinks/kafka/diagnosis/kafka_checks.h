// Checks of Kafka: the cluster, each of its brokers, and the topics that events go to.
#pragma once

#include <optional>
#include <vector>

#include "findings/findings.h"
#include "sinks/kafka/topics/topic_info.h"

namespace walrelay {

struct Config;

// Blocks: up to five seconds for each request, and two to three for each broker that cannot be
// reached. If no bootstrap server responds, only the certificates of the bootstrap servers are
// checked, because librdkafka does not report an expired one as such. At most 50 topics are
// checked. Writes nothing: whether a topic could be created is tested with a request that the
// brokers only validate. `out` receives every error. Returns the topics that were checked; nullopt:
// no bootstrap server responds.
std::optional<std::vector<TopicInfo>> CheckKafka(const Config& config, Depth depth, Findings& out);

}  // namespace walrelay
