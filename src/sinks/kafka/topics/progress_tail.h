// Reads the progress record of a pipeline from the end of its topic.
//
// The version that counts is the one with the greatest Order(), which need not be the last one: a
// relay that was replaced may write late. As much is read as compaction keeps at that moment, at
// least: docs/decisions/0048-read-the-end-of-the-progress-topic.md.
//
// Source: Kafka documentation, "Log Compaction"; the request ListOffsets of Kafka's protocol.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "sinks/kafka/topics/progress_consumer.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"

namespace walrelay {

// The record, and what else was read: the result has the records of other writers as far as they
// are in the part that was read. That is all of the topic if it has no record of the pipeline.
// `client` decides what the end is: the last stable offset, before which every transaction has
// ended, or the high watermark. `consumer`, which reads nothing else, awaits the end of open
// transactions before the end. Blocks as long as brokers send records, and for `patience` without
// any; after a request to stop, until the request in flight is answered. Errors: WR-4001, WR-4004,
// WR-4005, WR-4017 for an unreadable record of the pipeline, kCancelled.
// REQUIRES: the topic exists.
absl::StatusOr<ProgressReading> ReadProgressTail(rd_kafka_t* client, ProgressConsumer& consumer,
                                                 const ProgressAddress& address, Micros patience,
                                                 const std::stop_token& stop);

// The same for a producer that has just claimed its transactional id: also what is
// part of open transactions is read, whose end is awaited. Errors: as of ProgressTopic::Read(),
// and WR-4025 if a transaction does not end.
// REQUIRES: `client` has an isolation level of read_uncommitted; the topic exists.
absl::StatusOr<ProgressReading> ReadProgress(rd_kafka_t* client, ProgressConsumer& reader,
                                             const ProgressAddress& address, Micros patience,
                                             const std::stop_token& stop);

// Whether every transaction of the topic has ended. `uncommitted` and `committed` are clients with
// these isolation levels. Blocks until `deadline`. Errors: WR-4001, WR-4005, kCancelled.
absl::StatusOr<bool> TransactionsHaveEnded(rd_kafka_t* uncommitted, rd_kafka_t* committed,
                                           const std::string& topic,
                                           std::chrono::steady_clock::time_point deadline,
                                           const std::stop_token& stop);

}  // namespace walrelay
