// Maps the errors of librdkafka's transactional functions to walrelay's error codes.
//
// Source: rdkafka.h, rd_kafka_init_transactions and rd_kafka_commit_transaction; librdkafka,
// rdkafka_txnmgr.c.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string_view>

#include "absl/status/status.h"

namespace walrelay {

// Why a transactional producer has failed. WR-4021 if it was fenced, WR-4020, WR-4010 and WR-4019
// for the transactional id, the timeout and the brokers' version, WR-4023 for everything else.
// `detail`: librdkafka's text. REQUIRES: `error` is an error.
absl::Status TransactionError(rd_kafka_resp_err_t error, std::string_view detail,
                              std::string_view transactional_id);

// Why a commit has failed. If EndTxn was sent, the brokers may have committed the transaction:
// WR-4022, unless their answer says that they have not.
absl::Status CommitError(rd_kafka_resp_err_t error, std::string_view detail,
                         std::string_view transactional_id, uint64_t sent);

}  // namespace walrelay
