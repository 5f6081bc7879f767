#include "sinks/kafka/client/delivery_error.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/client/token_refresher.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// For example "Broker: Topic authorization failed (TOPIC_AUTHORIZATION_FAILED)": the name is what
// Kafka's documentation lists.
std::string Named(rd_kafka_resp_err_t error) {
  return fmt::format("{} ({})", rd_kafka_err2str(error), rd_kafka_err2name(error));
}

}  // namespace

// Brokers report one error for an entire batch, so the record is at most one of the causes. Errors
// that are not listed here concern the producer as a whole: its sequence, its epoch, its id.
absl::Status DeliveryError(rd_kafka_resp_err_t error, std::string_view topic,
                           std::string_view detail) {
  const std::string message = fmt::format("{}: {}{}{}", Printable(topic, 80), Named(error),
                                          detail.empty() ? "" : "; ", Printable(detail, 200));
  switch (error) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return Error(ErrorCode::kTopicUnknown, message);
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return Error(ErrorCode::kTopicDenied, message);
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      return Error(ErrorCode::kBatchTooLarge, message);
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
      return Error(ErrorCode::kRecordTimeRefused, message);
    // Without more evidence a refusal is the topic's: see RefusedRecordError().
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
      return Error(ErrorCode::kTopicRefuses, message);
    // The topic or the brokers do not support kafka.compression: no record can be written, whatever
    // it contains.
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE:
      return Error(ErrorCode::kProducerSetting, message);
    default:
      return Error(ErrorCode::kProducerFailed, message);
  }
}

// Source: org.apache.kafka.storage.internals.log.LogValidator, validateKey() and
// processRecordErrors(): a batch with a refused time is INVALID_TIMESTAMP, whatever else is wrong.
absl::Status RefusedRecordError(rd_kafka_resp_err_t error, std::string_view topic, bool has_key) {
  const absl::Status refusal = DeliveryError(error, topic, {});
  return error == RD_KAFKA_RESP_ERR_INVALID_RECORD && !has_key
             ? Error(ErrorCode::kDeliveryRefused,
                     fmt::format("{}; the record has no key, and a topic with "
                                 "cleanup.policy=compact accepts only records with one",
                                 MessageOf(refusal)))
             : refusal;
}

// librdkafka uses four codes for a record that it dropped by itself: purged from the queue, purged
// while in flight, refused because of an earlier permanent error, and destroyed with the client.
bool IsPurged(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__PURGE_QUEUE || error == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT ||
         error == RD_KAFKA_RESP_ERR__FATAL || error == RD_KAFKA_RESP_ERR__DESTROY;
}

// Everything that is not about the topic itself counts as an outage: another request may succeed.
absl::Status TopicError(rd_kafka_resp_err_t error, std::string_view topic) {
  const std::string message = fmt::format("{}: {}", Printable(topic, 80), Named(error));
  switch (error) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return Error(ErrorCode::kTopicDenied, message);
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
      return Error(ErrorCode::kTopicUnknown, message);
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
      return Error(ErrorCode::kTopicInvalid, message);
    default:
      return Error(ErrorCode::kKafkaUnreachable, message);
  }
}

// TLS errors count as a refused login: the usual cause is a certificate, which is a credential.
absl::Status ClientError(rd_kafka_resp_err_t error, std::string_view detail) {
  if (const std::string_view reason = TokenFailure(detail); !reason.empty()) {
    return Error(ErrorCode::kKafkaToken, Printable(reason, 500));
  }
  const bool login = error == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
                     error == RD_KAFKA_RESP_ERR__SSL ||
                     error == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED;
  return Error(login ? ErrorCode::kKafkaLogin : ErrorCode::kKafkaUnreachable,
               detail.empty() ? Named(error) : Printable(detail, 300));
}

// The client's own error explains more than "timed out".
absl::Status LastClientError(rd_kafka_t* client, rd_kafka_resp_err_t error) {
  absl::Status last = ClientError(error, {});
  const KafkaQueue queue(rd_kafka_queue_get_main(client));
  while (const KafkaEvent event{rd_kafka_queue_poll(queue.get(), 0)}) {
    const rd_kafka_resp_err_t reported = rd_kafka_event_error(event.get());
    if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_ERROR &&
        reported != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
      const char* detail = rd_kafka_event_error_string(event.get());
      last = ClientError(reported, detail != nullptr ? detail : "");
    }
  }
  return last;
}

}  // namespace walrelay
