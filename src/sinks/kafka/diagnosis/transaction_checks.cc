#include "sinks/kafka/diagnosis/transaction_checks.h"

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "base/text.h"
#include "sinks/kafka/admin/transaction_probe.h"
#include "sinks/kafka/client/cluster_info.h"
#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/known_defects.h"
#include "stream/progress_record.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// For one request to the cluster.
constexpr std::chrono::seconds kTransactionRequestTimeout{5};
// The first claim in a cluster waits until the brokers have created the coordinators' topic.
constexpr std::chrono::seconds kClaimTimeout{10};
constexpr std::string_view kTransactionLog = "__transaction_state";

// Brokers create the topic with the first claim of any client.
void CheckTransactionBrokers(const KafkaConfig& kafka, bool claimed, Findings& out) {
  if (!claimed) {
    const auto settings = ReadBrokerSettings(kafka, kTransactionRequestTimeout);
    if (!settings.ok()) {
      out.Problem("transactions.timeout", settings.status());
      return;
    }
    CheckTransactionTimeout(kafka, *settings, out);
  }
  const auto cluster = ReadClusterInfo(kafka, {}, kTransactionRequestTimeout);
  const auto topics = ReadTopicInfo(
      kafka, [](std::string_view name) { return name == kTransactionLog; }, 1,
      kTransactionRequestTimeout);
  if (!topics.ok() || !cluster.ok()) {
    out.Problem("transactions.log", !topics.ok() ? topics.status() : cluster.status());
    return;
  }
  CheckTransactionLog(topics->empty() ? std::nullopt : std::optional(topics->front()),
                      cluster->brokers.size(), out);
}

}  // namespace

void CheckTransactionLibrary(int version, Findings& out) {
  if (const absl::Status verdict = CheckTransactionSupport(version); !verdict.ok()) {
    out.Problem("transactions.library", verdict);
  } else {
    out.Good("transactions.library", "this version of librdkafka supports exactly-once delivery");
  }
}

// The id of the claim is not the relay's: a grant for that id alone is valid, and not seen here.
void CheckTransactionClaim(const absl::Status& claim, std::string_view pipeline, Findings& out) {
  if (claim.ok()) {
    out.Good(
        "transactions.id",
        fmt::format("this user may use transactional ids that begin with walrelay.{}", pipeline));
  } else if (HasCode(claim, ErrorCode::kTransactionalIdDenied)) {
    out.Warn(
        "transactions.id",
        fmt::format("{}; unless walrelay.{} is granted by its full name, it is denied, too, and "
                    "nothing is published (WR-4020)",
                    MessageOf(claim), pipeline),
        fmt::format("kafka-acls.sh --bootstrap-server BROKER --add --allow-principal User:NAME "
                    "--operation Describe --operation Write --transactional-id walrelay.{} "
                    "--resource-pattern-type prefixed",
                    pipeline));
  } else {
    out.Problem("transactions.id", claim);
  }
}

void CheckTransactionTimeout(const KafkaConfig& kafka, const BrokerSettings& settings,
                             Findings& out) {
  const std::string wanted = FormatDuration(kafka.transaction_timeout);
  if (!settings.max_transaction) {
    out.Warn("transactions.timeout",
             "this user may not read the brokers' settings: transaction.max.timeout.ms is unknown",
             fmt::format("Make sure that it is at least {} (the default is 15 minutes).", wanted));
  } else if (*settings.max_transaction < kafka.transaction_timeout) {
    out.Problem("transactions.timeout",
                Error(ErrorCode::kProducerSetting,
                      fmt::format("kafka.transaction_timeout is {}; the brokers accept at most {} "
                                  "(transaction.max.timeout.ms)",
                                  wanted, FormatDuration(*settings.max_transaction)),
                      "Lower kafka.transaction_timeout, or raise the brokers' "
                      "transaction.max.timeout.ms."));
  } else {
    out.Good("transactions.timeout",
             fmt::format("the brokers accept a transaction timeout of {}", wanted));
  }
}

void CheckTransactionLog(const std::optional<TopicInfo>& log, size_t brokers, Findings& out) {
  if (!log) {
    out.Good(
        "transactions.log",
        fmt::format("topic {} does not exist yet, or this user may not see it", kTransactionLog));
    return;
  }
  if (log->leaderless > 0 || log->in_sync < log->min_in_sync) {
    out.Problem("transactions.log",
                Error(ErrorCode::kKafkaStalled,
                      log->leaderless > 0
                          ? fmt::format("{} of {} partitions of topic {} have no leader",
                                        log->leaderless, log->partitions, log->name)
                          : fmt::format("topic {} has {} replicas in sync, min.insync.replicas is "
                                        "{}: transactions cannot be committed",
                                        log->name, log->in_sync, *log->min_in_sync),
                      "Restore the brokers: kafka-topics.sh --bootstrap-server BROKER --describe "
                      "--under-min-isr-partitions"));
  } else if (log->replicas == 1 && brokers > 1) {
    out.Warn("transactions.log",
             fmt::format("topic {} has one replica: while its broker is unavailable, pipelines "
                         "whose coordinator it is publish nothing, and with its disk the outcome "
                         "of open transactions is lost",
                         log->name),
             "Raise its replication factor: kafka-reassign-partitions.sh. For new clusters: "
             "transaction.state.log.replication.factor=3 and transaction.state.log.min.isr=2.");
  } else if (log->min_in_sync && log->replicas > 1 && *log->min_in_sync == 1) {
    out.Warn("transactions.log",
             fmt::format("topic {} has min.insync.replicas = 1: a commit may be on one broker only",
                         log->name),
             fmt::format("kafka-configs.sh --bootstrap-server BROKER --alter --topic {} "
                         "--add-config min.insync.replicas=2",
                         log->name));
  } else {
    out.Good("transactions.log", fmt::format("topic {} has {} replica{}", log->name, log->replicas,
                                             log->replicas == 1 ? "" : "s"));
  }
}

void CheckTransactions(const SourceConfig& source, const KafkaConfig& kafka,
                       const PipelineConfig& pipeline, std::string_view database, Depth depth,
                       Findings& out) {
  CheckTransactionLibrary(LibrdkafkaVersionNumber(), out);
  const bool supported = CheckTransactionSupport(LibrdkafkaVersionNumber()).ok();
  const bool named = supported && (!pipeline.id.empty() || !database.empty());
  bool claimed = false;
  if (named) {
    const std::string id = PipelineIdOf(source, pipeline, database);
    const absl::Status claim =
        ClaimTransactionalId(kafka, pipeline, fmt::format("walrelay.{}.doctor", id), kClaimTimeout);
    claimed = claim.ok();
    CheckTransactionClaim(claim, id, out);
  }
  if (depth == Depth::kAll) {
    CheckTransactionBrokers(kafka, claimed, out);
  }
  // No request shows how consumers read.
  out.Good("transactions.consumers",
           "consumers must be configured with isolation.level=read_committed; the default of "
           "clients in Java, Spring and kafka-python is read_uncommitted");
}

}  // namespace walrelay
