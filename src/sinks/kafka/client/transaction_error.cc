#include "sinks/kafka/client/transaction_error.h"

#include <fmt/format.h>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

std::string Described(rd_kafka_resp_err_t error, std::string_view detail,
                      std::string_view transactional_id) {
  return fmt::format("transactional id {}: {}: {}", Printable(transactional_id, 80),
                     rd_kafka_err2name(error), Printable(detail, 300));
}

}  // namespace

absl::Status TransactionError(rd_kafka_resp_err_t error, std::string_view detail,
                              std::string_view transactional_id) {
  const std::string message = Described(error, detail, transactional_id);
  switch (error) {
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
      return Error(ErrorCode::kProducerFenced, message);
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return Error(ErrorCode::kTransactionalIdDenied, message,
                   fmt::format("kafka-acls.sh --bootstrap-server BROKER --add --allow-principal "
                               "User:NAME --operation Write --operation Describe "
                               "--transactional-id {}",
                               Printable(transactional_id, 80)));
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
      return Error(ErrorCode::kProducerSetting, message,
                   "Reduce kafka.transaction_timeout: the brokers' limit is "
                   "transaction.max.timeout.ms.");
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION:
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
      return Error(ErrorCode::kTransactionsUnsupported, message);
    default:
      return Error(ErrorCode::kTransactionAborted, message);
  }
}

absl::Status CommitError(rd_kafka_resp_err_t error, std::string_view detail,
                         std::string_view transactional_id, uint64_t sent) {
  absl::Status status = TransactionError(error, detail, transactional_id);
  // An answer to the only EndTxn is about this transaction; to a repeated one, an earlier may have
  // succeeded.
  const bool refused = sent <= 1 && !HasCode(status, ErrorCode::kTransactionAborted);
  return sent == 0 || refused
             ? status
             : Error(ErrorCode::kCommitInDoubt, Described(error, detail, transactional_id));
}

}  // namespace walrelay
