#include "stream/progress_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

// Three times the longest pause between two records of a server whose WAL grows.
constexpr Micros kFreshRecord = std::chrono::seconds(30);

bool IsLegalInTopic(std::string_view text) {
  return text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
         std::string_view::npos;
}

// Compares identifiers, not names: the database may have been renamed.
bool IsSameDatabase(const Progress& record, const ServerInfo& server) {
  return record.database_oid != 0 && record.database_oid == server.database_oid &&
         record.system_id == server.system_id;
}

}  // namespace

std::string PipelineIdOf(const SourceConfig& source, const PipelineConfig& pipeline,
                         std::string_view database) {
  return pipeline.id.empty() ? fmt::format("{}.{}", database, source.slot) : pipeline.id;
}

// Without the server: the relay of a promoted server must fence the one before.
std::string TransactionalIdOf(const SourceConfig& source, const PipelineConfig& pipeline,
                              std::string_view database) {
  return fmt::format("walrelay.{}", PipelineIdOf(source, pipeline, database));
}

absl::StatusOr<ProgressAddress> ProgressAddressOf(const SourceConfig& source,
                                                  const PipelineConfig& pipeline,
                                                  const std::string& progress_topic,
                                                  std::string_view database) {
  const std::string id = PipelineIdOf(source, pipeline, database);
  if (!progress_topic.empty()) {
    return ProgressAddress{.topic = progress_topic, .pipeline = id};
  }
  if (!IsLegalInTopic(id) || kProgressTopicPrefix.size() + id.size() > 249) {
    return Error(
        ErrorCode::kConfigValue,
        fmt::format("the database's name \"{}\" cannot be a part of a topic's name", database),
        "Set pipeline.id to a name of letters, digits, \".\", \"_\" and \"-\".");
  }
  return ProgressAddress{.topic = fmt::format("{}{}", kProgressTopicPrefix, id), .pipeline = id};
}

absl::Status CheckOwner(const Progress& record, const SourceConfig& source,
                        const PipelineConfig& pipeline, const ServerInfo& server) {
  // A record has texts in this form: see EncodeProgress().
  const std::string id = Printable(PipelineIdOf(source, pipeline, server.database));
  const std::string name = Printable(server.database);
  const bool renamed = record.database != name && IsSameDatabase(record, server);
  if (record.pipeline != id) {
    const std::string what = fmt::format("it is the record of pipeline \"{}\", not \"{}\"",
                                         Printable(record.pipeline), id);
    return renamed
               ? Error(ErrorCode::kProgressForeign,
                       fmt::format("{}; database {} was renamed to {}", what,
                                   Printable(record.database), name),
                       fmt::format("Set pipeline.id = \"{}\", the id before the database was "
                                   "renamed, and restart: walrelay then continues from its record.",
                                   Printable(record.pipeline)))
               : Error(ErrorCode::kProgressForeign, what);
  }
  if ((record.database != name && !renamed) || record.slot != source.slot) {
    return Error(
        ErrorCode::kProgressForeign,
        fmt::format("it is the record of slot {} in database {}, not of slot {} in {}",
                    Printable(record.slot), Printable(record.database), source.slot, name));
  }
  return absl::OkStatus();
}

// The clocks of the writer and of the server may differ: a time ahead of the server's counts, too.
absl::Status CheckUnused(const Progress& record, const ServerInfo& server,
                         std::string_view run_id) {
  const Micros age = server.now - record.written;
  if (record.system_id == server.system_id || record.run_id.empty() || record.run_id == run_id ||
      std::max(age, -age) >= kFreshRecord) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kProgressInUse,
               fmt::format("run {} has written it {} s ago, for slot {} in database {} of the "
                           "server with system identifier {}; this one has {}",
                           Printable(record.run_id, 64), age / std::chrono::seconds(1),
                           Printable(record.slot), Printable(record.database),
                           Printable(record.system_id, 64), server.system_id));
}

// A server has one slot of a name, in one database.
bool IsOfSlot(const Progress& record, const SourceConfig& source, const ServerInfo& server) {
  return record.system_id == server.system_id && record.slot == source.slot &&
         (record.database == Printable(server.database) || IsSameDatabase(record, server));
}

std::optional<Progress> OfSlot(const std::vector<Progress>& records, const SourceConfig& source,
                               const ServerInfo& server) {
  const auto found = std::find_if(records.begin(), records.end(), [&](const Progress& record) {
    return IsOfSlot(record, source, server);
  });
  return found == records.end() ? std::nullopt : std::optional(*found);
}

bool IsSameVersion(const Progress& one, const Progress& other) {
  return one.run_id == other.run_id && one.sequence == other.sequence &&
         one.Order() == other.Order();
}

std::optional<PublicationState> PublicationOf(const Progress& record, std::string_view name) {
  const auto& seen = record.seen_publication;
  return seen && seen->name == name ? std::optional(seen->state) : std::nullopt;
}

ResumeState ResumeStateOf(const Progress& record) {
  return {.system_id = record.system_id,
          .timeline = record.timeline,
          .ancestors = record.ancestors,
          .frontier = record.frontier,
          .last_published = record.last,
          .partial = record.partial,
          .settled_before = record.settled_before,
          .latest_commit = record.latest_commit,
          .horizons = record.horizons,
          .source = Recorded()};
}

void SetPositions(Progress& record, const ResumeState& memory) {
  record.system_id = memory.system_id;
  record.timeline = memory.timeline;
  record.ancestors = memory.ancestors;
  record.frontier = memory.frontier;
  record.settled_before = memory.settled_before;
  record.last = memory.last_published;
  record.latest_commit = memory.latest_commit;
  record.partial = memory.partial;
}

Progress ProgressFrom(const SourceConfig& source, const PipelineConfig& pipeline,
                      const SourceInfo& info) {
  WR_CHECK(info.slot.has_value(), "the position is that of a slot");
  return {.pipeline = PipelineIdOf(source, pipeline, info.server.database),
          .system_id = info.server.system_id,
          .timeline = info.server.timeline,
          .ancestors = info.server.ancestors,
          .database = info.server.database,
          .database_oid = info.server.database_oid,
          .slot = source.slot,
          .frontier = info.slot->confirmed_flush_lsn,
          .settled_before = info.slot->confirmed_flush_lsn,
          .version = std::string(Version())};
}

}  // namespace walrelay
