// Maps librdkafka's errors to walrelay's error codes.
//
// Source: rdkafka.h, rd_kafka_resp_err_t; the errors that an idempotent producer treats as
// permanent were measured on 2.0.2 and 2.15.0.
//
// librdkafka's own codes are between -200 and -100; the others are those of the Kafka protocol.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string_view>

#include "absl/status/status.h"

namespace walrelay {

// The error of a produced record that will never be delivered.
// WR-4004, WR-4005 and WR-4009 for the topic or the size of the batch, WR-4030 and WR-4031 for a
// refusal, WR-4010 for a setting, WR-4002 for everything else: the producer is then replaced.
// REQUIRES: `error` is an error. `topic` and `detail` are escaped.
absl::Status DeliveryError(rd_kafka_resp_err_t error, std::string_view topic,
                           std::string_view detail);

// The same with what is known about the record: WR-4003 if the record's own content is the cause,
// which is a missing key in a compacted topic. REQUIRES: as DeliveryError().
absl::Status RefusedRecordError(rd_kafka_resp_err_t error, std::string_view topic, bool has_key);

// Whether a record was dropped unsent, because its producer failed or was purged.
bool IsPurged(rd_kafka_resp_err_t error);

// The error of a topic whose metadata was requested.
// WR-4004, WR-4005, WR-3005; WR-4001 for everything that another request may fix.
absl::Status TopicError(rd_kafka_resp_err_t error, std::string_view topic);

// The error of the client as a whole: unreachable brokers, refused logins. These are transient.
// WR-4007 for refused logins and TLS errors, else WR-4001. `detail` replaces librdkafka's text
// unless it is empty.
absl::Status ClientError(rd_kafka_resp_err_t error, std::string_view detail);

// Why a request of the client has failed with `error`: the last error among the events of its main
// queue, which this call removes, else `error`.
// REQUIRES: the client has the event RD_KAFKA_EVENT_ERROR, and only the caller reads the queue.
absl::Status LastClientError(rd_kafka_t* client, rd_kafka_resp_err_t error);

}  // namespace walrelay
