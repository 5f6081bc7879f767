#include "sinks/kafka/diagnosis/write_probe_check.h"

#include <fmt/format.h>

#include "base/text.h"
#include "route/topic_name.h"
#include "sinks/kafka/admin/record_writer.h"
#include "sinks/kafka/topics/topic_info.h"
#include "walrelay/config/kafka.h"

namespace walrelay {
namespace {

// Enough for metadata, a topic that is created on demand, and an acknowledgement of all replicas.
constexpr std::chrono::seconds kProbeTimeout{10};

// Brokers with too few in-sync replicas keep rejecting the record, and the producer keeps retrying.
// Adds that cause to the error.
absl::Status WithCause(const absl::Status& error, const KafkaConfig& kafka,
                       const std::string& topic) {
  // Other errors name their cause themselves.
  if (!HasCode(error, ErrorCode::kKafkaStalled)) {
    return error;
  }
  // An error of this second request is ignored: the first error is the one that matters.
  const auto info = ReadTopicInfo(
      kafka, [&](std::string_view name) { return name == topic; }, 1, kProbeTimeout);
  if (!info.ok() || info->empty() || !info->front().min_in_sync ||
      info->front().in_sync >= *info->front().min_in_sync) {
    return error;
  }
  return Error(ErrorCode::kKafkaStalled,
               fmt::format("{}: {} replicas are in sync, min.insync.replicas is {}",
                           MessageOf(error), info->front().in_sync, *info->front().min_in_sync),
               "Restore the brokers: kafka-topics.sh --bootstrap-server BROKER --describe "
               "--under-min-isr-partitions");
}

}  // namespace

void CheckWriting(const KafkaConfig& kafka, const PipelineConfig& pipeline,
                  const ErrorPolicy& on_error, const std::string& topic, Findings& out) {
  // The name comes from the command line. librdkafka would only wait for metadata of a topic that
  // cannot exist.
  if (const absl::Status name =
          CheckRowTopic(topic, ReservedTopics(kafka.progress_topic, on_error));
      !name.ok()) {
    out.Problem("kafka.write", name);
    return;
  }
  const auto written = WriteProbe(kafka, pipeline, topic, kProbeTimeout);
  if (!written.ok()) {
    out.Problem("kafka.write", WithCause(written.status(), kafka, topic));
    return;
  }
  out.Good("kafka.write",
           fmt::format("a record was written to topic {}, partition {}, offset {}, and "
                       "acknowledged by all replicas in sync in {}",
                       topic, written->partition, written->offset, FormatDuration(written->took)));
}

}  // namespace walrelay
