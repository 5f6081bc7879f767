#include "sinks/kafka/client/client_health.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "sinks/kafka/client/delivery_error.h"
#include "walrelay/config/on_error.h"
#include "walrelay/error.h"

namespace walrelay {

ClientHealth::ErrorKind ClientHealth::OnError(rd_kafka_event_t* event, MonoTime now) {
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
  // The event may carry __FATAL, or the cause itself and a mark; rd_kafka_fatal_error() returns the
  // cause in both cases.
  if (error == RD_KAFKA_RESP_ERR__FATAL || rd_kafka_event_error_is_fatal(event) != 0) {
    CheckFatal();
    return ErrorKind::kFatal;
  }
  const char* detail = rd_kafka_event_error_string(event);
  trouble_ = ClientError(error, detail != nullptr ? detail : "");
  LogDebug("kafka_trouble", MessageOf(trouble_));
  if (HasCode(trouble_, ErrorCode::kKafkaLogin)) {
    // The time of the first refusal in a row: librdkafka repeats the error at each attempt.
    login_refused_since_ = login_refused_since_.value_or(now);
    return ErrorKind::kLoginRefused;
  }
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    reachable_ = false;
    return ErrorKind::kAllBrokersDown;
  }
  return ErrorKind::kOther;
}

void ClientHealth::CheckFatal() {
  char reason[512];
  const rd_kafka_resp_err_t error = rd_kafka_fatal_error(client_, reason, sizeof(reason));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    Fail(Error(ErrorCode::kProducerFailed,
               fmt::format("{}: {}", rd_kafka_err2name(error), Printable(reason))));
  }
}

// librdkafka keeps its first permanent error too; later ones follow from it.
void ClientHealth::Fail(const absl::Status& error) {
  WR_CHECK(!error.ok(), "a failure has a cause");
  if (fatal_.ok()) {
    fatal_ = error;
  }
}

void ClientHealth::ExplainTrouble(const absl::Status& cause) {
  if (!cause.ok()) {
    trouble_ = cause;
  }
}

void ClientHealth::OnBrokerAnswered() {
  trouble_ = absl::OkStatus();
  reachable_ = true;
  login_refused_since_.reset();
}

}  // namespace walrelay
