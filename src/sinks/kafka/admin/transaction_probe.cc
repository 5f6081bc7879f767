#include "sinks/kafka/admin/transaction_probe.h"

#include <fmt/format.h>

#include <chrono>

#include "base/text.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/client/transaction_error.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// librdkafka repeats the claim until its time is up: its last error says more than that.
absl::Status NoClaim(rd_kafka_t* client, const std::string& id, Micros timeout) {
  const absl::Status last = LastClientError(client, RD_KAFKA_RESP_ERR__TIMED_OUT);
  return HasCode(last, ErrorCode::kKafkaLogin) || HasCode(last, ErrorCode::kKafkaToken)
             ? last
             : Error(ErrorCode::kKafkaUnreachable,
                     fmt::format("transactional id {}: no answer of the transaction coordinator "
                                 "within {}",
                                 Printable(id, 120), FormatDuration(timeout)),
                     "Check the topic __transaction_state: kafka-topics.sh --bootstrap-server "
                     "BROKER --describe --topic __transaction_state");
}

}  // namespace

absl::Status ClaimTransactionalId(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                                  const std::string& id, Micros timeout) {
  WR_ASSIGN_OR_RETURN(KafkaConf conf, MakeProducerConf(kafka, pipeline, kafka.max_batch_bytes, id));
  WR_ASSIGN_OR_RETURN(const KafkaClient client, MakeClient(RD_KAFKA_PRODUCER, std::move(conf)));
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(timeout);
  const KafkaError error(
      rd_kafka_init_transactions(client.get(), static_cast<int>(millis.count())));
  if (error == nullptr) {
    return absl::OkStatus();
  }
  const rd_kafka_resp_err_t code = rd_kafka_error_code(error.get());
  if (code == RD_KAFKA_RESP_ERR__TIMED_OUT) {
    return NoClaim(client.get(), id, timeout);
  }
  const char* detail = rd_kafka_error_string(error.get());
  const absl::Status status = TransactionError(code, detail, id);
  // No transaction was open.
  return HasCode(status, ErrorCode::kTransactionAborted) ? ClientError(code, detail) : status;
}

}  // namespace walrelay
