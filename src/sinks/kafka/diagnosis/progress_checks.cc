#include "sinks/kafka/diagnosis/progress_checks.h"

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "base/text.h"
#include "sinks/kafka/admin/progress_topic.h"
#include "sinks/kafka/client/cluster_info.h"
#include "sinks/kafka/topics/compacted_topic_rule.h"
#include "sinks/kafka/topics/topic_creation.h"
#include "stream/gap.h"
#include "stream/progress_record.h"
#include "stream/start_position.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/config/source.h"

namespace walrelay {
namespace {

// For one request to the cluster.
constexpr std::chrono::seconds kProgressRequestTimeout{5};

// A relay that does not require the record starts without it if the user may not use the topic.
void ReportUnusable(const PipelineConfig& pipeline, const absl::Status& error, Findings& out) {
  const bool optional = !pipeline.requires_record();
  if (optional && HasCode(error, ErrorCode::kProgressDenied)) {
    out.Warn("progress.topic",
             fmt::format("the relay would start without the record: {}", MessageOf(error)),
             RemedyFor(error));
  } else {
    out.Problem("progress.topic", error);
  }
}

// The relay creates the topic with the brokers' number of replicas, whatever [kafka.topics] says.
void CheckMissingTopic(KafkaConfig kafka, const PipelineConfig& pipeline, const std::string& topic,
                       Findings& out) {
  kafka.topics = TopicsConfig();
  const std::string names[] = {topic};
  const auto answers = CheckTopicCreation(kafka, names, kProgressRequestTimeout);
  if (!answers.ok()) {
    out.Problem("progress.topic", answers.status());
    return;
  }
  if (answers->empty()) {
    out.Problem("progress.topic", Error(ErrorCode::kKafkaUnreachable,
                                        "no broker has answered whether the topic can be created"));
    return;
  }
  const absl::Status& refusal = answers->front().status;
  if (refusal.ok()) {
    out.Good("progress.topic", fmt::format("topic {} does not exist; walrelay creates it", topic));
    return;
  }
  ReportUnusable(
      pipeline,
      Error(ErrorCode::kProgressDenied,
            fmt::format("the topic does not exist and cannot be created: {}", MessageOf(refusal)),
            HasCode(refusal, ErrorCode::kTopicDenied)
                ? TopicAclRemedy(topic)
                : "Fix the brokers' defaults, or create the topic: docs/guides/progress.md."),
      out);
}

// REQUIRES: the topic exists, and this user may see it.
void CheckTopicState(const KafkaConfig& kafka, const std::string& topic, size_t brokers,
                     Findings& out) {
  const auto topics = ReadTopicInfo(
      kafka, [&](std::string_view name) { return name == topic; }, 1, kProgressRequestTimeout);
  if (!topics.ok()) {
    out.Problem("progress.topic", topics.status());
  } else if (!topics->empty()) {
    CheckProgressReplicas(topics->front(), brokers, out);
    CheckProgressSettings(topics->front(), out);
  }
}

std::string RecordText(const Progress& record) {
  std::string text = fmt::format("the record is up to {}", record.frontier.ToString());
  if (record.written != WallTime()) {
    text += fmt::format(", written {}", Rfc3339(record.written));
  }
  return text + fmt::format(" by walrelay {}", Printable(record.version, 40));
}

// Where the database was renamed, and nothing names the pipeline: the record has the earlier name.
std::optional<Progress> RecordOfSlot(const SourceConfig& source, const KafkaConfig& kafka,
                                     const PipelineConfig& pipeline, const SourceInfo& info) {
  const bool named = !pipeline.id.empty() || !kafka.progress_topic.empty();
  return named || !info.slot
             ? std::nullopt
             : OfSlot(KafkaProgressTopic(kafka, /*stop_fd=*/-1).ReadOfSlot(source.slot), source,
                      info.server);
}

// Every user who may write to the topic can stop the relay, or make it skip events.
void CheckWriters(const ProgressReading& reading, const std::string& topic, Findings& out) {
  const std::string remedy = fmt::format(
      "kafka-acls.sh --bootstrap-server BROKER --list --topic {}  (only walrelay's user needs "
      "Write)",
      topic);
  if (reading.foreign > 0) {
    out.Warn("progress.writers",
             fmt::format("topic {} has {} records that no pipeline has written; they are ignored. "
                         "For example {}",
                         topic, reading.foreign, reading.foreign_example),
             remedy);
  }
  for (const Progress& other : reading.others) {
    out.Warn("progress.writers",
             fmt::format("topic {} also has a record of pipeline \"{}\", which is ignored", topic,
                         Printable(other.pipeline, 128)),
             "Give each pipeline its own kafka.progress_topic.");
  }
}

}  // namespace

void CheckProgressReplicas(const TopicInfo& topic, size_t brokers, Findings& out) {
  if (topic.leaderless > 0 || topic.in_sync < topic.min_in_sync) {
    out.Problem("progress.topic",
                Error(ErrorCode::kKafkaStalled,
                      topic.leaderless > 0
                          ? fmt::format("the partition of topic {} has no leader", topic.name)
                          : fmt::format("topic {} has {} replicas in sync, min.insync.replicas is "
                                        "{}: it accepts no records",
                                        topic.name, topic.in_sync, *topic.min_in_sync),
                      "Restore the brokers: kafka-topics.sh --bootstrap-server BROKER --describe "
                      "--under-min-isr-partitions"));
    return;
  }
  if (topic.settings.empty()) {
    out.Warn("progress.topic",
             fmt::format("this user may not read the settings of topic {}: cleanup.policy is "
                         "unknown",
                         topic.name),
             fmt::format("Make sure that it is \"compact\", or kafka-acls.sh --bootstrap-server "
                         "BROKER --add --allow-principal User:NAME --operation DescribeConfigs "
                         "--topic {}",
                         topic.name));
  }
  const std::string alter = fmt::format(
      "kafka-configs.sh --bootstrap-server BROKER --alter --topic {} --add-config "
      "min.insync.replicas=",
      topic.name);
  if (topic.replicas == 1 && brokers > 1) {
    out.Warn(
        "progress.topic",
        fmt::format("topic {} has one replica: the record is lost with its broker", topic.name),
        "Raise its replication factor: kafka-reassign-partitions.sh");
  } else if (topic.min_in_sync && topic.replicas > 1 && *topic.min_in_sync == 1) {
    out.Warn("progress.topic",
             fmt::format("topic {} has min.insync.replicas = 1: an acknowledged record may be on "
                         "one broker only",
                         topic.name),
             alter + "2");
  } else if (topic.min_in_sync && topic.replicas > 1 && *topic.min_in_sync >= topic.replicas) {
    out.Warn(
        "progress.topic",
        fmt::format("topic {} has {} replicas and min.insync.replicas = {}: when one broker is "
                    "unavailable, nothing is recorded, and the slot is not confirmed",
                    topic.name, topic.replicas, *topic.min_in_sync),
        fmt::format("{}{}", alter, topic.replicas - 1));
  }
}

void CheckProgressSettings(const TopicInfo& topic, Findings& out) {
  std::string found;
  for (const UnsuitableSetting& each : UnsuitableSettings(topic.settings)) {
    found += fmt::format("{}{} = {} ({})", found.empty() ? "" : ", ", each.name, each.value,
                         each.effect);
  }
  if (!found.empty()) {
    out.Warn("progress.topic", fmt::format("topic {} has {}", topic.name, found),
             AlterCompactedTopicCommand(topic.name));
  }
}

void CheckProgressRecord(const std::optional<Progress>& record, const SourceConfig& source,
                         const PipelineConfig& pipeline, const SourceInfo& info, Findings& out) {
  // The relay does not read the record while its server is a standby; slot.usable reports that.
  if (info.server.in_recovery) {
    return;
  }
  if (!record) {
    if (pipeline.requires_record() && info.slot) {
      out.Problem("progress.record", Error(ErrorCode::kProgressMissing,
                                           fmt::format("slot {} is confirmed up to {}", source.slot,
                                                       info.slot->confirmed_flush_lsn.ToString())));
    } else {
      out.Good("progress.record", "there is no record yet: the relay writes the first one");
    }
    return;
  }
  if (const absl::Status owner = CheckOwner(*record, source, pipeline, info.server); !owner.ok()) {
    out.Problem("progress.record", owner);
    return;
  }
  const absl::Status unused = CheckUnused(*record, info.server, /*run_id=*/"");
  if (!unused.ok()) {
    out.Problem("progress.record", unused);
    return;
  }
  if (record->held) {
    const Gap gap = GapOf(*record->held);
    out.Problem(
        "progress.record",
        Error(record->held->code, fmt::format("gap {} is held: {}", gap.id, MessageOf(gap.error))));
    return;
  }
  // The relay's own decision, with the record as its only memory. One that reads the slot has gone
  // on since the server was asked, and has decided itself.
  const bool streams = info.slot && info.slot->active;
  const ResumeState memory = ResumeStateOf(*record);
  absl::Status start = FindGap(memory, PublicationOf(*record, source.publication), info);
  start.Update(DecideStart(memory, info).status());
  if (!streams && !start.ok()) {
    out.Problem("progress.record", start);
    return;
  }
  out.Good("progress.record", RecordText(*record));
}

std::optional<Progress> CheckProgress(const SourceConfig& source, const KafkaConfig& kafka,
                                      const PipelineConfig& pipeline,
                                      const std::optional<SourceInfo>& info, Depth depth,
                                      Findings& out) {
  const bool named = !pipeline.id.empty();
  if (!named && !info) {
    return std::nullopt;  // postgres.connect or postgres.query reports why the database is unknown
  }
  const auto address =
      ProgressAddressOf(source, pipeline, kafka.progress_topic, info ? info->server.database : "");
  if (!address.ok()) {
    out.Problem("progress.topic", address.status());
    return std::nullopt;
  }
  const std::string& topic = address->topic;
  const auto cluster = ReadClusterInfo(kafka, {topic}, kProgressRequestTimeout);
  if (!cluster.ok()) {
    out.Problem("progress.topic", cluster.status());
    return std::nullopt;
  }
  const absl::Status& visible = cluster->topics.front();
  if (HasCode(visible, ErrorCode::kTopicUnknown)) {
    CheckMissingTopic(kafka, pipeline, topic, out);
    if (info) {
      CheckProgressRecord(RecordOfSlot(source, kafka, pipeline, *info), source, pipeline, *info,
                          out);
    }
    return std::nullopt;
  }
  if (visible.ok() && depth == Depth::kAll) {
    CheckTopicState(kafka, topic, cluster->brokers.size(), out);
  }
  const auto reading = KafkaProgressTopic(kafka, /*stop_fd=*/-1).ReadExisting(*address);
  if (!reading.ok()) {
    ReportUnusable(pipeline, reading.status(), out);
    return std::nullopt;
  }
  // As the relay does at its start: without a record, that of another pipeline of this slot.
  std::optional<Progress> record = reading->record;
  if (!record && info) {
    record = OfSlot(reading->others, source, info->server);
    record = record ? record : RecordOfSlot(source, kafka, pipeline, *info);
  }
  // Brokers check the right to read only when there is a record.
  out.Good("progress.topic",
           fmt::format("topic {} {}", topic, record ? "can be read" : "has no record yet"));
  CheckWriters(*reading, topic, out);
  if (info) {
    CheckProgressRecord(record, source, pipeline, *info, out);
  }
  const bool own = info && record && CheckOwner(*record, source, pipeline, info->server).ok();
  return own ? record : std::nullopt;
}

}  // namespace walrelay
