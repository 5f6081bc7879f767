#include "stream/progress_record.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "walrelay/error.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

constexpr std::string_view kTopicPrefix = "walrelay.progress.";

bool IsLegalInTopic(std::string_view text) {
  return text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
         std::string_view::npos;
}

}  // namespace

std::string PipelineIdOf(const Config& config, std::string_view database) {
  return config.pipeline.id.empty() ? fmt::format("{}.{}", database, config.source.slot)
                                    : config.pipeline.id;
}

// Without the server: the relay of a promoted server must fence the one before.
std::string TransactionalIdOf(const Config& config, std::string_view database) {
  return fmt::format("walrelay.{}", PipelineIdOf(config, database));
}

absl::StatusOr<std::string> ProgressTopicOf(const Config& config, std::string_view database) {
  if (!config.kafka.progress_topic.empty()) {
    return config.kafka.progress_topic;
  }
  const std::string id = PipelineIdOf(config, database);
  if (!IsLegalInTopic(id) || kTopicPrefix.size() + id.size() > 249) {
    return Error(
        ErrorCode::kConfigValue,
        fmt::format("the database's name \"{}\" cannot be a part of a topic's name", database),
        "Set pipeline.id to a name of letters, digits, \".\", \"_\" and \"-\".");
  }
  return fmt::format("{}{}", kTopicPrefix, id);
}

absl::Status CheckOwner(const Progress& record, const Config& config, std::string_view database) {
  // A record has texts in this form: see EncodeProgress().
  const std::string id = Printable(PipelineIdOf(config, database));
  const std::string name = Printable(database);
  if (record.pipeline != id) {
    return Error(ErrorCode::kProgressForeign,
                 fmt::format("it is the record of pipeline \"{}\", not \"{}\"",
                             Printable(record.pipeline), id));
  }
  if (record.database != name || record.slot != config.source.slot) {
    return Error(
        ErrorCode::kProgressForeign,
        fmt::format("it is the record of slot {} in database {}, not of slot {} in {}",
                    Printable(record.slot), Printable(record.database), config.source.slot, name));
  }
  return absl::OkStatus();
}

bool IsSameVersion(const Progress& one, const Progress& other) {
  return one.run_id == other.run_id && one.sequence == other.sequence &&
         one.Order() == other.Order();
}

ResumeState ResumeStateOf(const Progress& record) {
  return {.system_id = record.system_id,
          .timeline = record.timeline,
          .ancestors = record.ancestors,
          .frontier = record.frontier,
          .resume = record.frontier,
          .last_published = record.last,
          .partial = record.partial,
          .known_before = record.known_before,
          .recorded = true};
}

Progress ProgressFrom(const Config& config, const SourceInfo& info) {
  WR_CHECK(info.slot.has_value(), "the position is that of a slot");
  return {.pipeline = PipelineIdOf(config, info.server.database),
          .system_id = info.server.system_id,
          .timeline = info.server.timeline,
          .ancestors = info.server.ancestors,
          .database = info.server.database,
          .slot = config.source.slot,
          .frontier = info.slot->confirmed_flush_lsn,
          .known_before = info.slot->confirmed_flush_lsn,
          .version = std::string(Version())};
}

}  // namespace walrelay
