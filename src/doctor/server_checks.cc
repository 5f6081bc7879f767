#include "doctor/server_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/loopback.h"
#include "base/quote.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "postgres/catalog_queries.h"
#include "walrelay/config/source.h"

namespace walrelay {
namespace {

constexpr int kOldestVersion = 130000;
constexpr int kNewestTested = 190000;  // below
constexpr Micros kFarAway = std::chrono::milliseconds(10);
constexpr Micros kClocksApart = std::chrono::milliseconds(100);
// The stream, the sampler, and one more for a reconnection.
constexpr int64_t kConnections = 3;
constexpr int64_t kConnectionsToWaitVisible = 4;

// A warning and not a problem: other versions may work, but no test runs with them.
void CheckVersion(PgConnection& connection, Findings& out) {
  const int version = connection.server_version_num();
  if (version < kOldestVersion) {
    out.Warn("postgres.version",
             fmt::format(
                 "Postgres {} is older than the versions that walrelay is tested with (13 to 18)",
                 connection.server_version()),
             "Upgrade the server; its version is end-of-life.");
  } else if (version >= kNewestTested) {
    out.Warn("postgres.version",
             fmt::format(
                 "Postgres {} is newer than the versions that walrelay is tested with (13 to 18)",
                 connection.server_version()),
             "Check for a newer walrelay.");
  }
}

// The best of three measurements, to reduce noise.
absl::Status CheckNetwork(PgConnection& connection, Micros timeout, Findings& out) {
  const SystemClock clock;
  Micros round_trip = Micros::max();
  Micros offset{0};
  for (int i = 0; i < 3; ++i) {
    // As NTP does it: the server's clock is compared with the middle of the round trip. The error
    // is at most half of the round trip, so the fastest measurement is the most accurate.
    const MonoTime asked = clock.Now();
    WR_ASSIGN_OR_RETURN(
        const PgResult row,
        // clock_timestamp() and not now(), which returns the start of the transaction.
        connection.Query("SELECT extract(epoch FROM pg_catalog.clock_timestamp()) AS now",
                         timeout));
    const Micros took = clock.Now() - asked;
    if (took < round_trip) {
      round_trip = took;
      const Micros now = row.Seconds(0, "now").value_or(Micros(0));
      offset = WallTime(now) - (clock.WallNow() - took / 2);
    }
  }
  const std::string text = fmt::format("a round trip takes {}", FormatDuration(round_trip));
  if (round_trip > kFarAway) {
    out.Warn("network.postgres", text + ": every event is delayed by at least half of that",
             "Run walrelay close to Postgres.");
  } else {
    out.Good("network.postgres", text);
  }
  if (offset > kClocksApart || offset < -kClocksApart) {
    out.Warn("network.clocks",
             fmt::format("the server's clock is {} {} this host's: measured latencies are wrong by "
                         "as much",
                         FormatDuration(std::max(offset, -offset)),
                         offset > Micros(0) ? "ahead of" : "behind"),
             "Synchronize both hosts with NTP (chronyc tracking, timedatectl).");
  } else {
    out.Good("network.clocks",
             fmt::format("the clocks agree to {}", FormatDuration(std::max(offset, -offset))));
  }
  return absl::OkStatus();
}

// pg_stat_ssl shows the own session to every role. Over a Unix socket `ssl` is false: no finding.
absl::Status CheckTls(PgConnection& connection, Micros timeout, Findings& out) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query("SELECT ssl, version, cipher FROM pg_catalog.pg_stat_ssl "
                       "WHERE pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()",
                       timeout));
  if (row.rows() == 1 && row.Bool(0, "ssl")) {
    out.Good("network.tls", fmt::format("{}, {}", row.Text(0, "version"), row.Text(0, "cipher")));
  }
  return absl::OkStatus();
}

// REPLICATION already reads the whole server (SECURITY.md); a superuser also writes, and runs
// programs on its host.
absl::Status CheckRole(PgConnection& connection, Micros timeout, Findings& out) {
  WR_ASSIGN_OR_RETURN(const PgResult row,
                      connection.Query("SELECT rolname, rolsuper FROM pg_catalog.pg_roles "
                                       "WHERE rolname OPERATOR(pg_catalog.=) current_user",
                                       timeout));
  const std::string name = Printable(row.rows() == 1 ? row.Text(0, "rolname") : "", 63);
  if (row.rows() == 1 && row.Bool(0, "rolsuper")) {
    out.Warn("postgres.role",
             fmt::format("role {} is a superuser: who has its password can change every database, "
                         "and run programs on the server's host",
                         name),
             "Create a role for walrelay, `walrelay setup --apply --role ROLE`, and set it in "
             "source.dsn.");
  } else {
    out.Good("postgres.role",
             fmt::format("role {} is not a superuser; like every role with REPLICATION, it can "
                         "read the whole server: protect its password",
                         name));
  }
  return absl::OkStatus();
}

// doctor itself holds a walsender while this runs: one that is in use here may be its own.
absl::Status CheckCapacity(PgConnection& connection, const SourceConfig& source, Findings& out) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query(
          fmt::format(
              "SELECT pg_catalog.current_setting('max_wal_senders') AS senders,"
              " (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_replication) AS senders_used,"
              " pg_catalog.current_setting('max_replication_slots') AS slots,"
              " (SELECT pg_catalog.count(*) FROM pg_catalog.pg_replication_slots) AS slots_used,"
              " (SELECT pg_catalog.string_agg(slot_name::pg_catalog.text, ', ')"
              "  FROM pg_catalog.pg_replication_slots WHERE NOT active) AS idle,"
              " EXISTS (SELECT 1 FROM pg_catalog.pg_replication_slots"
              "  WHERE slot_name OPERATOR(pg_catalog.=) {}) AS ours,"
              " (SELECT rolconnlimit FROM pg_catalog.pg_roles"
              "  WHERE rolname OPERATOR(pg_catalog.=) current_user) AS role_limit,"
              " current_user AS role",
              QuoteLiteral(source.slot)),
          source.connect_timeout));
  // A role without pg_read_all_stats sees the rows of pg_stat_replication with most columns NULL,
  // so their number is correct for every role.
  const int64_t senders = row.Int(0, "senders");
  const int64_t senders_used = row.Int(0, "senders_used");
  if (senders_used >= senders) {
    out.Warn(
        "postgres.wal_senders",
        fmt::format("all {} walsenders are in use: a broken connection may fail to reconnect",
                    senders),
        fmt::format("ALTER SYSTEM SET max_wal_senders = {};  -- needs a restart; to list them: "
                    "SELECT pid, application_name FROM pg_stat_replication;",
                    senders + 5));
  } else {
    out.Good("postgres.wal_senders",
             fmt::format("{} of {} walsenders are in use", senders_used, senders));
  }
  // If the relay's slot exists, it needs no free one.
  if (row.Int(0, "slots_used") >= row.Int(0, "slots") && !row.Bool(0, "ours")) {
    out.Warn(
        "postgres.slots",
        fmt::format("all {} replication slots are in use; idle: {}", row.Int(0, "slots"),
                    Printable(row.Text(0, "idle"), 200)),
        fmt::format("ALTER SYSTEM SET max_replication_slots = {};  -- needs a restart; or drop "
                    "an unused slot: SELECT pg_drop_replication_slot('NAME');",
                    row.Int(0, "slots") + 5));
  }
  // rolconnlimit is -1 if the role has no limit.
  const int64_t limit = row.Int(0, "role_limit");
  const int64_t needed = source.wait_visible ? kConnectionsToWaitVisible : kConnections;
  if (limit >= 0 && limit < needed) {
    out.Warn(
        "postgres.connection_limit",
        fmt::format("role {} may have {} connection{}; walrelay needs {}",
                    Printable(row.Text(0, "role"), 80), limit, limit == 1 ? "" : "s", needed),
        fmt::format("ALTER ROLE {} CONNECTION LIMIT 8;", QuoteIdentifier(row.Text(0, "role"))));
  }
  return absl::OkStatus();
}

// "'off' for role app in database shop".
// Only settings of roles and databases are visible: a session that sets the option itself is not.
// setconfig has the text of ALTER ROLE; these values mean off (synchronous_commit_options in
// guc_tables.c).
constexpr std::string_view kAsynchronousQuery = R"(
WITH asynchronous AS (
  SELECT s.setdatabase, s.setrole, d.datname, r.rolname
  FROM pg_catalog.pg_db_role_setting s
  LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) s.setdatabase
  LEFT JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) s.setrole
  WHERE EXISTS (SELECT 1 FROM pg_catalog.unnest(s.setconfig) c
                WHERE pg_catalog.lower(c) OPERATOR(pg_catalog.~)
                      '^synchronous_commit=(off|false|no|0)$')
    AND (s.setdatabase OPERATOR(pg_catalog.=) 0
         OR d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()))
SELECT a.datname, a.rolname,
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity x
        WHERE x.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
          AND x.pid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()
          AND (a.setrole OPERATOR(pg_catalog.=) 0
               OR x.usesysid OPERATOR(pg_catalog.=) a.setrole)) AS sessions
FROM asynchronous a)";

// The view has no row where the server does not have the setting, or the role may not read it.
absl::Status CheckOutputPlugins(PgConnection& connection, Micros timeout, Findings& out) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query("SELECT s.setting, 'pgoutput' OPERATOR(pg_catalog.=) ANY ("
                       "pg_catalog.regexp_split_to_array(s.setting, ', *')) AS has_pgoutput "
                       "FROM pg_catalog.pg_settings s "
                       "WHERE s.name OPERATOR(pg_catalog.=) 'output_plugin_libraries'",
                       timeout));
  if (row.rows() == 0 || row.Bool(0, "has_pgoutput")) {
    return absl::OkStatus();
  }
  const std::string_view listed = row.Text(0, "setting");
  out.Problem(
      "postgres.output_plugin_libraries",
      fmt::format("output_plugin_libraries is \"{}\", without pgoutput: Postgres refuses to "
                  "create and to read the slot",
                  listed),
      fmt::format("ALTER SYSTEM SET output_plugin_libraries = pgoutput{}{}; "
                  "SELECT pg_reload_conf();",
                  listed.empty() ? "" : ", ", listed));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckServerSettings(PgConnection& connection, const SourceConfig& source,
                                 Findings& out) {
  const Micros timeout = source.connect_timeout;
  WR_RETURN_IF_ERROR(CheckOutputPlugins(connection, timeout, out));
  WR_ASSIGN_OR_RETURN(const std::string wal_level, ReadSetting(connection, "wal_level", timeout));
  if (wal_level != "logical") {
    out.Problem("postgres.wal_level",
                Error(ErrorCode::kWalLevel, fmt::format("wal_level is {}", wal_level)));
  }
  WR_ASSIGN_OR_RETURN(const std::string keep,
                      ReadSetting(connection, "max_slot_wal_keep_size", timeout));
  // -1 means no limit. A warning, because a server whose disk is full stops all writers, not only
  // the outbox.
  if (keep == "-1") {
    out.Warn(
        "postgres.max_slot_wal_keep_size",
        "max_slot_wal_keep_size is -1: while a relay is stopped, WAL can fill the server's disk",
        "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'; SELECT pg_reload_conf();  -- as the "
        "disk allows");
  }
  WR_ASSIGN_OR_RETURN(const std::string idle,
                      ReadSetting(connection, "idle_replication_slot_timeout", timeout));
  // Empty on servers before 18, which do not have the setting.
  if (!idle.empty() && idle != "0") {
    out.Warn(
        "postgres.idle_replication_slot_timeout",
        fmt::format("idle_replication_slot_timeout is {}: Postgres invalidates a slot that is idle "
                    "for that long, and unpublished events are lost",
                    idle),
        "ALTER SYSTEM SET idle_replication_slot_timeout = 0; SELECT pg_reload_conf();");
  }
  WR_ASSIGN_OR_RETURN(const std::string silence,
                      ReadSetting(connection, "wal_sender_timeout", timeout));
  // The session's own setting overrides the server's; 0 in the configuration means that the
  // server's applies.
  if (silence == "0" && source.wal_sender_timeout == Micros(0)) {
    out.Warn("postgres.wal_sender_timeout",
             "wal_sender_timeout is 0, here and on the server: after a relay's host dies, the "
             "slot stays in use until TCP detects it, which may take hours",
             "Leave source.wal_sender_timeout at its default, which applies to this connection "
             "only.");
  }
  return absl::OkStatus();
}

absl::Status CheckServerAndNetwork(PgConnection& connection, const SourceConfig& source,
                                   Findings& out) {
  const Micros timeout = source.connect_timeout;
  CheckVersion(connection, out);
  WR_RETURN_IF_ERROR(CheckNetwork(connection, timeout, out));
  WR_RETURN_IF_ERROR(CheckTls(connection, timeout, out));
  WR_RETURN_IF_ERROR(CheckRole(connection, timeout, out));
  return CheckCapacity(connection, source, out);
}

absl::Status CheckLatency(PgConnection& connection, const SourceConfig& source, Findings& out) {
  const Micros timeout = source.connect_timeout;
  WR_ASSIGN_OR_RETURN(const std::string delay,
                      ReadSetting(connection, "wal_writer_delay", timeout));
  WR_ASSIGN_OR_RETURN(const PgResult here,
                      connection.Query("SELECT setting, source FROM pg_catalog.pg_settings "
                                       "WHERE name OPERATOR(pg_catalog.=) 'synchronous_commit'",
                                       timeout));
  // wal_writer_delay bounds the delay of an asynchronous commit: the WAL writer flushes at this
  // interval.
  const auto late = [&](std::string_view whose) {
    return fmt::format(
        "synchronous_commit is off {}: such commits reach the WAL up to {} late, and their events "
        "are equally late; neither walrelay nor Kafka causes this delay",
        whose, delay);
  };
  bool found = false;
  const std::string_view set_by = here.rows() == 1 ? here.Text(0, "source") : "";
  // The value in this session. One that comes from its role, database or connection says nothing
  // about the server's default; the query below finds those of others.
  if (here.rows() == 1 && here.Text(0, "setting") == "off" && set_by != "database" &&
      set_by != "user" && set_by != "database user" && set_by != "client") {
    found = true;
    out.Warn("latency.synchronous_commit", late("for the whole server"),
             "ALTER SYSTEM RESET synchronous_commit; SELECT pg_reload_conf();  -- or SET LOCAL "
             "synchronous_commit = on in the transactions whose events are urgent");
  }
  WR_ASSIGN_OR_RETURN(const PgResult rows,
                      connection.Query(std::string(kAsynchronousQuery), timeout));
  // A row without role applies to a database, a row without database to a role in all databases.
  // The RESET statement has to name the same combination.
  for (int i = 0; i < rows.rows(); ++i) {
    const std::string role = QuoteIdentifier(rows.Text(i, "rolname"));
    const std::string database = QuoteIdentifier(rows.Text(i, "datname"));
    const bool of_role = rows.Get(i, "rolname").has_value();
    const bool of_database = rows.Get(i, "datname").has_value();
    found = true;
    out.Warn(
        "latency.synchronous_commit",
        late(fmt::format("for{}{}{} ({} session{} now)",
                         of_role ? " role " + Printable(rows.Text(i, "rolname"), 80) : "",
                         of_role && of_database ? " in" : "",
                         of_database ? " database " + Printable(rows.Text(i, "datname"), 80) : "",
                         rows.Int(i, "sessions"), rows.Int(i, "sessions") == 1 ? "" : "s")),
        of_role ? fmt::format("ALTER ROLE {}{} RESET synchronous_commit;  -- applies to new "
                              "sessions",
                              role, of_database ? " IN DATABASE " + database : "")
                : fmt::format("ALTER DATABASE {} RESET synchronous_commit;  -- applies to new "
                              "sessions",
                              database));
  }
  if (!found) {
    out.Good("latency.synchronous_commit",
             "commits are flushed immediately, unless a session sets synchronous_commit = off");
  }
  return absl::OkStatus();
}

}  // namespace walrelay
