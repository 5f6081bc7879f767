#include "sinks/kafka/diagnosis/kafka_diagnosis.h"

#include <fmt/format.h>

#include <utility>

#include "sinks/kafka/client/conf.h"
#include "sinks/kafka/client/known_defects.h"
#include "sinks/kafka/diagnosis/kafka_checks.h"
#include "sinks/kafka/diagnosis/progress_checks.h"
#include "sinks/kafka/diagnosis/retention_checks.h"
#include "sinks/kafka/diagnosis/transaction_checks.h"
#include "sinks/kafka/diagnosis/write_probe_check.h"
#include "walrelay/config.h"

namespace walrelay {

bool KafkaDiagnosis::CheckTopics(Depth depth) {
  auto topics = CheckKafka(config_, depth, out_);
  const bool reached = topics.has_value();
  topics_ = std::move(topics).value_or(std::vector<TopicInfo>());
  return reached;
}

std::optional<Progress> KafkaDiagnosis::CheckProgress(const std::optional<SourceInfo>& source,
                                                      Depth depth) {
  return walrelay::CheckProgress(config_.source, config_.kafka, config_.pipeline, source, depth,
                                 out_);
}

void KafkaDiagnosis::CheckRetention(std::optional<Micros> oldest) {
  walrelay::CheckRetention(config_.route, config_.on_error, topics_, oldest, out_);
}

void KafkaDiagnosis::CheckTransactions(std::string_view database, Depth depth) {
  walrelay::CheckTransactions(config_.source, config_.kafka, config_.pipeline, database, depth,
                              out_);
}

void KafkaDiagnosis::CheckWriting(const std::string& topic) {
  walrelay::CheckWriting(config_.kafka, config_.pipeline, config_.on_error, topic, out_);
}

void KafkaDiagnosis::CheckLibrary() {
  for (const KnownDefect& defect : KnownDefectsOf(LibrdkafkaVersionNumber(), config_.kafka)) {
    out_.Warn(
        "process.libraries",
        fmt::format("librdkafka {} has a known defect: {}", LibrdkafkaVersion(), defect.effect),
        fmt::format("Install librdkafka {} or later; Debian 13 and the image have 2.8.0, "
                    "Confluent's package repository has later versions.",
                    defect.fixed_in));
  }
  const absl::Status support = CheckTransactionSupport(LibrdkafkaVersionNumber());
  if (config_.pipeline.exactly_once() && !support.ok()) {
    out_.Problem("process.libraries", support);
  }
}

}  // namespace walrelay
