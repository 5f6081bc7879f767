// `walrelay progress`: shows the progress record of a pipeline, and writes one.

#include <fmt/format.h>

#include <random>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/progress_plan.h"
#include "cli/progress_report.h"
#include "kafka/progress_topic.h"
#include "postgres/pg_replication_source.h"
#include "postgres/session.h"
#include "stream/progress_record.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kWriteTimeout{30};

// The server is asked only if the name of the topic depends on it: the record can then be shown
// while Postgres is down.
absl::StatusOr<std::string> TopicOf(const Config& config) {
  if (!config.kafka.progress_topic.empty() || !config.pipeline.id.empty()) {
    return ProgressTopicOf(config, "");
  }
  WR_ASSIGN_OR_RETURN(const PgConnection connection, ConnectTo(config.source));
  return ProgressTopicOf(config, connection.database());
}

absl::StatusOr<std::optional<Progress>> ReadRecord(const Config& config, const std::string& topic) {
  return KafkaProgressReader(config.kafka, -1).Read(topic);
}

// A run of one record.
Progress AsWritten(Progress record) {
  std::random_device random;
  record.run_id = fmt::format("{:08x}{:08x}", random(), random());
  record.sequence = 1;
  record.written = SystemClock().WallNow();
  return record;
}

// The result of `plan`, which gets the state of the source and the record that exists, is written.
template <typename Plan>
absl::Status Write(const Config& config, bool force, Plan&& plan) {
  PgReplicationSource source(config.source, -1);
  WR_ASSIGN_OR_RETURN(SourceInfo info, source.Open());
  WR_ASSIGN_OR_RETURN(const std::string topic, ProgressTopicOf(config, info.server.database));
  WR_ASSIGN_OR_RETURN(const auto old, ReadRecord(config, topic));
  // Again: reading the topic takes time, in which a relay may have started.
  WR_ASSIGN_OR_RETURN(info.slot, source.InspectSlot());
  WR_ASSIGN_OR_RETURN(Progress record, plan(ProgressPlanInput{config, info, old, force}));
  record = AsWritten(std::move(record));
  WR_RETURN_IF_ERROR(WriteProgress(config, topic, record, kWriteTimeout));
  fmt::print("The record is written:\n{}", ProgressText(record, topic));
  if (config.pipeline.progress == ProgressRecording::kOff) {
    fmt::print(stderr,
               "pipeline.progress is \"off\": the relay uses the record only with \"auto\" or "
               "\"required\"\n");
  }
  return absl::OkStatus();
}

ExitCode ExitWith(const absl::Status& status) {
  return status.ok() ? ExitCode::kOk : Report(status);
}

}  // namespace

ExitCode ProgressShowCommand(const ProgressFlags& flags) {
  const auto loaded = LoadCheckedConfig(flags.config);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  const auto topic = TopicOf(loaded->config);
  if (!topic.ok()) {
    return Report(topic.status());
  }
  const auto record = ReadRecord(loaded->config, *topic);
  if (!record.ok()) {
    return Report(record.status());
  }
  if (flags.json) {
    fmt::print("{}", ProgressJson(*record, *topic));
  } else if (*record) {
    fmt::print("{}", ProgressText(**record, *topic));
  } else {
    fmt::print("There is no record in topic {}.\n", *topic);
  }
  return *record ? ExitCode::kOk : ExitCode::kProblemsFound;
}

ExitCode ProgressInitCommand(const ProgressFlags& flags) {
  const auto loaded = LoadCheckedConfig(flags.config);
  return ExitWith(loaded.ok() ? Write(loaded->config, flags.force, PlanProgressInit)
                              : loaded.status());
}

ExitCode ProgressSetCommand(const ProgressFlags& flags) {
  const auto lsn = Lsn::Parse(flags.lsn);
  if (!lsn || !lsn->valid()) {
    return Report(Error(ErrorCode::kUsage,
                        fmt::format("--lsn: invalid; expected a position such as 16/B374D848, got "
                                    "\"{}\"",
                                    Printable(flags.lsn, 60))));
  }
  const auto loaded = LoadCheckedConfig(flags.config);
  return ExitWith(loaded.ok() ? Write(loaded->config, flags.force,
                                      [&](const ProgressPlanInput& input) {
                                        return PlanProgressSet(input, *lsn);
                                      })
                              : loaded.status());
}

}  // namespace walrelay
