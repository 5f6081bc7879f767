#include "doctor/backlog_checks.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>

#include "pgoutput/decoder.h"
#include "pgoutput/relation_cache.h"
#include "postgres/session.h"
#include "postgres/temporary_slot.h"
#include "route/router.h"
#include "stream/start_position.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The oldest rows: those that a relay publishes next.
constexpr size_t kMessages = 1000;
constexpr std::chrono::seconds kLimit{5};

// The versions of outbox tables in the backlog.
struct Versions {
  size_t count = 0;
  absl::Status problem;  // of the first one that cannot be published
};

absl::StatusOr<Versions> ReadVersions(const Config& config, const SourceInfo& info) {
  WR_ASSIGN_OR_RETURN(Router router, Router::Create(config, /*run_id=*/""));
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(config.source));
  WR_ASSIGN_OR_RETURN(TemporarySlot slot,
                      TemporarySlot::OfSlot(std::move(connection), config.source));
  WR_ASSIGN_OR_RETURN(const std::vector<std::string> messages,
                      slot.NextDescriptions(kMessages, kLimit));
  router.StartSession(info.tables);
  pgoutput::Decoder decoder;
  pgoutput::RelationCache tables;
  Versions versions;
  for (const std::string& message : messages) {
    WR_ASSIGN_OR_RETURN(const pgoutput::Message decoded, decoder.Decode(message));
    if (const auto* type = std::get_if<pgoutput::Type>(&decoded)) {
      tables.OnType(*type);
    } else if (const auto* relation = std::get_if<pgoutput::Relation>(&decoded)) {
      if (router.OnRelation(tables.Replace(*relation))) {
        ++versions.count;
        versions.problem.Update(router.StatusOf(relation->oid));
      }
    }
  }
  return versions;
}

}  // namespace

void CheckBacklog(const Config& config, const SourceInfo& info, Findings& out) {
  // slot.usable has reported a slot that cannot be read.
  const auto start = DecideStart(std::nullopt, info);
  if (!start.ok() || start->position >= info.server.wal_end) {
    return;
  }
  const auto versions = ReadVersions(config, info);
  if (!versions.ok()) {
    out.Warn("table.backlog",
             fmt::format("the columns of the rows that wait in the slot are not known: {}",
                         MessageOf(versions.status())),
             "walrelay print shows the rows that wait, however long it takes to decode them.");
  } else if (!versions->problem.ok()) {
    out.Problem("table.backlog", versions->problem);
  } else if (versions->count > 0) {
    out.Good("table.backlog", "the oldest rows that wait in the slot have the mapped columns");
  }
}

}  // namespace walrelay
