#include "postgres/slot_copies.h"

#include <fmt/format.h>

#include <utility>

#include "base/quote.h"
#include "base/text.h"
#include "postgres/catalog_queries.h"
#include "postgres/connection_parameters.h"
#include "postgres/session.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A host that does not answer must not delay the other checks.
constexpr Micros kStandbyTimeout = std::chrono::seconds(5);
constexpr int kSyncedSlotsVersion = 170000;

// Settings that a role may not see are absent from pg_settings.
constexpr std::string_view kStandbyQuery = R"(
SELECT pg_catalog.pg_is_in_recovery() AS standby,
       pg_catalog.current_setting('sync_replication_slots', true) AS sync,
       pg_catalog.current_setting('hot_standby_feedback') AS feedback,
       (SELECT g.setting FROM pg_catalog.pg_settings g
        WHERE g.name OPERATOR(pg_catalog.=) 'primary_slot_name') AS primary_slot,
       (SELECT g.setting FROM pg_catalog.pg_settings g
        WHERE g.name OPERATOR(pg_catalog.=) 'primary_conninfo') AS conninfo)";

// nullopt: a primary, or a server that does not synchronize slots.
absl::StatusOr<std::optional<StandbyFacts>> ReadStandby(PgConnection& standby,
                                                        const std::string& slot) {
  if (standby.server_version_num() < kSyncedSlotsVersion) {
    return std::nullopt;
  }
  WR_ASSIGN_OR_RETURN(const PgResult row,
                      standby.Query(std::string(kStandbyQuery), kStandbyTimeout));
  if (!row.Bool(0, "standby")) {
    return std::nullopt;
  }
  StandbyFacts facts{.sync_replication_slots = row.Text(0, "sync") == "on",
                     .hot_standby_feedback = row.Text(0, "feedback") == "on",
                     .primary_slot_name = std::string(row.Text(0, "primary_slot"))};
  if (const auto conninfo = row.Get(0, "conninfo")) {
    facts.conninfo_has_database = conninfo->find("dbname") != std::string_view::npos;
  }
  WR_ASSIGN_OR_RETURN(facts.slot, ReadSlotInfo(standby, slot, kStandbyTimeout));
  return facts;
}

// As in the DSN; "" for a host that it does not name.
std::string HostOf(const ConnectionParameters& parameters) {
  for (const auto& [key, value] : parameters) {
    if (key == "host") {
      return Printable(value, 80);
    }
  }
  return "";
}

}  // namespace

std::vector<SlotCopyProblem> ProblemsOf(const StandbyFacts& standby, const std::string& slot) {
  std::vector<SlotCopyProblem> problems;
  const auto set = [](std::string_view setting) {
    return fmt::format("ALTER SYSTEM SET {}; SELECT pg_reload_conf();", setting);
  };
  if (standby.slot && !standby.slot->synced) {
    problems.push_back(
        {fmt::format("slot {} is the standby's own, from when it was a primary: Postgres does not "
                     "synchronize a slot of that name",
                     slot),
         fmt::format("SELECT pg_drop_replication_slot({});", QuoteLiteral(slot))});
  }
  if (!standby.sync_replication_slots) {
    problems.push_back({"sync_replication_slots is off", set("sync_replication_slots = on")});
  }
  if (!standby.hot_standby_feedback) {
    problems.push_back({"hot_standby_feedback is off", set("hot_standby_feedback = on")});
  }
  if (standby.primary_slot_name.empty()) {
    problems.push_back({"primary_slot_name is empty",
                        set("primary_slot_name = 'NAME'") + "  -- a physical slot on the primary"});
  }
  if (!standby.conninfo_has_database.value_or(true)) {
    problems.push_back({"primary_conninfo has no dbname",
                        "Add dbname=DATABASE to primary_conninfo; SELECT pg_reload_conf();"});
  }
  if (!standby.slot) {
    problems.push_back({fmt::format("slot {} is not there", slot),
                        "Fix the settings above; the standby's log says why it does not "
                        "synchronize the slot."});
  } else if (standby.slot->lost()) {
    problems.push_back(
        {fmt::format("the copy of slot {} is invalidated", slot),
         "Drop the copy on the standby; Postgres then synchronizes the slot again."});
  } else if (standby.slot->synced && standby.slot->temporary) {
    problems.push_back(
        {fmt::format("the copy of slot {} is temporary: it does not survive a promotion yet", slot),
         "Start walrelay run: the copy becomes permanent when the slot has advanced on the "
         "primary."});
  }
  return problems;
}

absl::StatusOr<std::vector<SlotCopy>> ReadSlotCopies(const SourceConfig& source, int interrupt_fd) {
  std::vector<SlotCopy> copies;
  WR_ASSIGN_OR_RETURN(const ConnectionParameters parameters,
                      MakeConnectionParameters(source, ConnectionPurpose::kSql));
  const std::vector<ConnectionParameters> hosts = EachHost(parameters);
  for (size_t i = 0; hosts.size() > 1 && i < hosts.size(); ++i) {
    SlotCopy copy{.host = HostOf(hosts[i])};
    auto standby =
        OpenSession(source, {.timeout = kStandbyTimeout, .interrupt_fd = interrupt_fd, .host = i});
    auto facts = standby.ok() ? ReadStandby(standby->connection, source.slot) : standby.status();
    if (absl::IsCancelled(facts.status())) {
      return facts.status();
    }
    if (!facts.ok()) {
      copy.unreachable = facts.status();
    } else if (facts->has_value()) {
      copy.problems = ProblemsOf(**facts, source.slot);
      copy.confirmed = (*facts)->slot ? (*facts)->slot->confirmed_flush_lsn : Lsn();
    } else {
      continue;
    }
    copies.push_back(std::move(copy));
  }
  return copies;
}

}  // namespace walrelay
