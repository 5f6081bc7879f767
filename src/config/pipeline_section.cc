#include <fmt/format.h>

#include "config/option_rows.h"
#include "config/section.h"
#include "route/topic_name.h"

namespace walrelay {
namespace {

using enum OptionType;
constexpr auto kPipeline = &Config::pipeline;

constexpr Option kPipelineRows[] = {
    // The id is a part of the name of the progress topic.
    Within(Row<kPipeline, &PipelineConfig::id>(
               "pipeline", "id", kString,
               "The name of the pipeline in Kafka. Must be unique in the Kafka cluster, and the "
               "same for the instances of a pipeline. Default: `<database>.<slot>`."),
           "at most 128 letters, digits and \"._-\"",
           [](const Config& config) {
             return config.pipeline.id.size() <= 128 && CheckTopicPart(config.pipeline.id).ok();
           }),
    ChoiceRow<kPipeline, &PipelineConfig::mode>(
        "pipeline", "mode",
        "What consumers see after a failure (docs/delivery.md). `slot`: at least once; publishing "
        "continues at the slot's confirmed position, and events published since are published "
        "again. `topics`: at least once; each record carries its position in the header `wr-pos`, "
        "and events that a partition already has are not sent again (docs/guides/progress.md). "
        "`exactly_once`: events are published in Kafka transactions, together with the record of "
        "progress; consumers with `isolation.level=read_committed` see each event once "
        "(docs/guides/exactly-once.md)."),
    ChoiceRow<kPipeline, &PipelineConfig::progress>(
        "pipeline", "progress",
        "Whether walrelay records in `kafka.progress_topic` what is published, and confirms the "
        "slot only up to that. With the record, it also notices after a restart that the server "
        "was restored, or that the slot was advanced or recreated (docs/guides/progress.md). "
        "`auto`: as the mode needs it: with `slot`, if the user may use the topic, otherwise a "
        "warning is logged; with `topics` and `exactly_once`, as `required`. `required`: nothing "
        "is published without the record. `off` is valid with `mode = \"slot\"` only."),
    Row<kPipeline, &PipelineConfig::atomic_rows>(
        "pipeline", "atomic_rows", kInteger,
        "With `mode = \"exactly_once\"`: the events of a database transaction with up to this "
        "many rows become visible to consumers together, unless it exceeds the limits for records "
        "in flight, or its publishing is interrupted."),
    Row<kPipeline, &PipelineConfig::max_in_flight_records>(
        "pipeline", "max_in_flight_records", kInteger,
        "Limit for records handed to Kafka and not yet acknowledged. At the limit, walrelay "
        "stops reading from Postgres and continues to send status updates."),
    SizeRow<kPipeline, &PipelineConfig::max_in_flight_bytes>(
        "pipeline", "max_in_flight_bytes",
        "Limit for the keys, values and headers of records in flight, plus 512 bytes per "
        "record; one record may always be in flight. Determines the memory of the process."),
    Within(
        Row<kPipeline, &PipelineConfig::linger>(
            "pipeline", "linger", kDuration,
            "While more than 2,500 rows a second arrive, records are sent at this interval: fewer "
            "requests, which cost walrelay and the brokers less CPU time. `0ms`: send them as soon "
            "as the earlier ones are acknowledged. No effect with `mode = \"exactly_once\"`."),
        "at most \"100ms\"",
        [](const Config& config) {
          return config.pipeline.linger <= std::chrono::milliseconds(100);
        }),
    Within(Row<kPipeline, &PipelineConfig::confirm_interval>(
               "pipeline", "confirm_interval", kDuration,
               "How often progress is confirmed to Postgres; a crash repeats at most this much."),
           "at most ten seconds, because a crash repeats this much",
           [](const Config& config) {
             return config.pipeline.confirm_interval <= std::chrono::seconds(10);
           }),
    Row<kPipeline, &PipelineConfig::drain_timeout>(
        "pipeline", "drain_timeout", kDuration,
        "How long a shutdown (SIGTERM) waits for acknowledgements. Keep it below the "
        "supervisor's timeout (Kubernetes: 30 s)."),
};

// Two modes and [prune] need the record of progress. No other rule connects mode and progress.
void CheckRecord(const Config& config, ConfigNeeds /*needs*/, ConfigErrors& errors) {
  const PipelineConfig& pipeline = config.pipeline;
  const struct {
    bool used;
    const char* option;
    const char* why;
  } needs[] = {
      {pipeline.resumes_from_topics(), "pipeline.mode",
       "Positions in the topics can be compared only with a record of the server's history"},
      {pipeline.exactly_once(), "pipeline.mode",
       "The record of progress is a part of each transaction"},
      {config.prune.mode != PruneMode::kOff, "prune.mode",
       "The record of progress proves which rows are published"},
  };
  for (const auto& need : needs) {
    if (need.used && !pipeline.records_progress()) {
      errors.Reject(need.option,
                    fmt::format("{} = {} excludes pipeline.progress = \"off\"", need.option,
                                FindOption(need.option)->show(config)),
                    fmt::format("{}: remove progress = \"off\" from [pipeline].", need.why));
    }
  }
}

}  // namespace

const Section kPipelineSection = {kPipelineRows, CheckRecord};

}  // namespace walrelay
