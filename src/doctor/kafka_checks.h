// Checks of Kafka: the cluster, each of its brokers, and the topics that events go to.
#pragma once

#include "doctor/findings.h"
#include "walrelay/config.h"

namespace walrelay {

void CheckKafka(const Config& config, Depth depth, Findings& out);

}  // namespace walrelay
