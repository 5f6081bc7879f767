#include "doctor/visibility_checks.h"

#include <fmt/format.h>

#include "base/text.h"
#include "postgres/catalog_queries.h"
#include "postgres/synchronous_standbys.h"
#include "walrelay/config/source.h"

namespace walrelay {
namespace {

// reserved_connections: Postgres 16 and later.
constexpr const char* kConnectionsQuery =
    "SELECT pg_catalog.current_setting('max_connections')::pg_catalog.int8 AS most,"
    " COALESCE(pg_catalog.sum(setting::pg_catalog.int8), 0) AS reserved,"
    " (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity"
    "  WHERE backend_type OPERATOR(pg_catalog.=) 'client backend') AS used"
    " FROM pg_catalog.pg_settings"
    " WHERE name OPERATOR(pg_catalog.=) ANY (ARRAY['superuser_reserved_connections',"
    " 'reserved_connections']::pg_catalog.text[])";

// A standby is synchronous by its application_name, and a walsender of logical replication counts
// like any other. Source: src/backend/replication/syncrep.c, SyncRepGetStandbyPriority.
void CheckStandbyNames(PgConnection& connection, const std::string& standbys, bool wait_visible,
                       Findings& out) {
  if (standbys.empty()) {
    return;
  }
  const std::string setting =
      fmt::format("synchronous_standby_names = '{}'", Printable(standbys, 80));
  const bool names_us = NamesStandby(standbys, connection.application_name());
  // In both cases below the fix is the same; only the consequence differs.
  const std::string remedy = "Name the real standbys there, not walrelay or '*'.";
  // A deadlock, not only a delay: the commit waits for walrelay's confirmation, and walrelay waits
  // until the commit is visible.
  if (names_us && wait_visible) {
    out.Problem("postgres.synchronous_standby_names",
                setting +
                    " matches walrelay as a synchronous standby: a commit may wait for walrelay, "
                    "and with source.wait_visible walrelay waits for the commit",
                remedy);
  } else if (names_us) {
    out.Warn(
        "postgres.synchronous_standby_names",
        setting +
            " matches walrelay as a synchronous standby: while Kafka is unavailable, commits would "
            "wait for it",
        remedy);
  }
  if (!wait_visible) {
    out.Warn("postgres.visibility",
             setting +
                 ": events are published before the standbys confirm their commits. Until then a "
                 "consumer that reads the primary does not see the row, and a failover can remove "
                 "a commit whose event is in Kafka",
             "Set source.wait_visible = true.");
  }
}

}  // namespace

absl::Status CheckVisibility(PgConnection& connection, const SourceConfig& source, Findings& out) {
  const Micros timeout = source.connect_timeout;
  const bool wait_visible = source.wait_visible;
  WR_ASSIGN_OR_RETURN(const std::string standbys,
                      ReadSetting(connection, "synchronous_standby_names", timeout));
  CheckStandbyNames(connection, standbys, wait_visible, out);
  if (!wait_visible) {
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(const PgResult row, connection.Query(kConnectionsQuery, timeout));
  // An ordinary role cannot use the reserved connections.
  const int64_t most = row.Int(0, "most") - row.Int(0, "reserved");
  const int64_t left = most - row.Int(0, "used") + 1;  // this connection closes
  if (left < 1) {
    out.Warn("postgres.visibility",
             fmt::format("all {} connections are in use: without a separate connection for "
                         "source.wait_visible, the relay publishes nothing",
                         most),
             "Raise max_connections (needs a restart), or close unused connections.");
  } else {
    out.Good("postgres.visibility",
             fmt::format("events wait until their commits are visible; {} of {} connections are "
                         "free",
                         left, most));
  }
  return absl::OkStatus();
}

}  // namespace walrelay
