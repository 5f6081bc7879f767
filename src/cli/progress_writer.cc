#include "cli/progress_writer.h"

#include <fmt/format.h>

#include <chrono>
#include <random>
#include <utility>

#include "base/system_clock.h"
#include "kafka/progress_topic.h"
#include "postgres/pg_replication_source.h"
#include "postgres/session.h"
#include "stream/progress_record.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kWriteTimeout{30};

}  // namespace

absl::StatusOr<std::string> ProgressTopicFor(const Config& config) {
  if (!config.kafka.progress_topic.empty() || !config.pipeline.id.empty()) {
    return ProgressTopicOf(config, "");
  }
  WR_ASSIGN_OR_RETURN(const PgConnection connection, ConnectTo(config.source));
  return ProgressTopicOf(config, connection.database());
}

absl::StatusOr<WrittenProgress> WritePlannedProgress(
    const Config& config, bool force,
    const std::function<absl::StatusOr<Progress>(const ProgressPlanInput&)>& plan) {
  PgReplicationSource source(config.source, -1);
  WR_ASSIGN_OR_RETURN(SourceInfo info, source.Open());
  WR_ASSIGN_OR_RETURN(const std::string topic, ProgressTopicOf(config, info.server.database));
  WR_ASSIGN_OR_RETURN(const auto old, KafkaProgressReader(config.kafka, -1).Read(topic));
  // Again: reading the topic takes time, in which a relay may have started.
  WR_ASSIGN_OR_RETURN(info.slot, source.InspectSlot());
  WR_ASSIGN_OR_RETURN(Progress record, plan(ProgressPlanInput{config, info, old, force}));
  WR_ASSIGN_OR_RETURN(record, WriteAsNewRun(config, topic, std::move(record)));
  return WrittenProgress{topic, std::move(record)};
}

absl::StatusOr<Progress> WriteAsNewRun(const Config& config, const std::string& topic,
                                       Progress record) {
  std::random_device random;
  record.run_id = fmt::format("{:08x}{:08x}", random(), random());
  record.sequence = 1;
  record.written = SystemClock().WallNow();
  WR_RETURN_IF_ERROR(WriteProgress(config, topic, record, kWriteTimeout));
  return record;
}

}  // namespace walrelay
