// Reads the progress record of a pipeline.
//
// The version that counts is the one with the greatest Order(), which need not be the last one: a
// relay that was replaced may write late.
#pragma once

#include <librdkafka/rdkafka.h>

#include <stop_token>

#include "absl/status/statusor.h"
#include "kafka/progress_consumer.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"

namespace walrelay {

// Reads all of the topic.
// `client` decides what the end is: the last stable offset, before which every transaction has
// ended, or the high watermark. `consumer`, which reads nothing else, awaits the end of open
// transactions before the end. Blocks as long as brokers send records, and for `patience` without
// any; after a request to stop, until the request in flight is answered. Errors: WR-4001, WR-4004,
// WR-4005, WR-4017 for an unreadable record of the pipeline, kCancelled.
// REQUIRES: the topic exists.
absl::StatusOr<ProgressReading> ReadProgressTail(rd_kafka_t* client, ProgressConsumer& consumer,
                                                 const ProgressAddress& address, Micros patience,
                                                 const std::stop_token& stop);

}  // namespace walrelay
