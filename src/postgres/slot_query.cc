#include "postgres/slot_query.h"

#include <fmt/format.h>

#include <charconv>

#include "postgres/catalog_queries.h"
#include "postgres/standby_slots.h"
#include "slot/wal_retention_limit.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// pg_stat_replication_slots.
constexpr int kStatisticsVersion = 140000;
// A WAL segment: restart_lsn is always a little behind.
constexpr uint64_t kWorthAsking = uint64_t{16} << 20;

// wal_keep_mb: -1 for no limit.
constexpr std::string_view kServerColumns = R"(,
       CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
            ELSE pg_catalog.pg_current_wal_lsn() END AS wal_lsn,
       extract(epoch FROM pg_catalog.clock_timestamp()) AS taken,
       CASE WHEN pg_catalog.pg_is_in_recovery() THEN NULL
            ELSE pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()) END AS horizon_xid,
       CASE WHEN pg_catalog.pg_is_in_recovery() THEN NULL
            ELSE pg_catalog.pg_current_wal_insert_lsn() END AS horizon_lsn,
       CASE WHEN pg_catalog.pg_is_in_recovery() THEN NULL
            ELSE pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()) END AS next_xid,
       CASE WHEN pg_catalog.pg_is_in_recovery() THEN NULL
            ELSE pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn())
       END AS wal_file,
       CASE WHEN pg_catalog.pg_is_in_recovery() THEN NULL
            ELSE pg_catalog.pg_current_wal_flush_lsn() END AS flush_lsn,
       a.wait_event_type AS reader_wait_type, a.wait_event AS reader_wait_event,
       (SELECT g.setting FROM pg_catalog.pg_settings g
        WHERE g.name OPERATOR(pg_catalog.=) 'idle_replication_slot_timeout') AS idle_seconds,
       (SELECT g.setting FROM pg_catalog.pg_settings g
        WHERE g.name OPERATOR(pg_catalog.=) 'max_slot_wal_keep_size') AS wal_keep_mb)";
constexpr std::string_view kSpillColumns = ", t.spill_txns, t.spill_bytes, t.total_bytes";
constexpr std::string_view kSpillJoin =
    " LEFT JOIN pg_catalog.pg_stat_replication_slots t"
    " ON t.slot_name OPERATOR(pg_catalog.=) s.slot_name";

// Every role may read backend_xid, user and application; only some roles may read xact_start.
// The oldest xid of a running or prepared transaction: decoding must be able to start before it.
// backend_xid is NULL for transactions that have written nothing, which hold nothing back.
constexpr std::string_view kHolderQuery = R"(
SELECT * FROM (
  SELECT a.pid, NULL AS gid, a.usename::pg_catalog.text AS owner,
         a.application_name AS application, a.datname::pg_catalog.text AS database,
         a.backend_xid AS xid,
         extract(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) a.xact_start) AS age
  FROM pg_catalog.pg_stat_activity a WHERE a.backend_xid IS NOT NULL
  UNION ALL
  SELECT NULL, p.gid, p.owner::pg_catalog.text, NULL, p.database::pg_catalog.text, p.transaction,
         extract(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) p.prepared)
  FROM pg_catalog.pg_prepared_xacts p) o
ORDER BY pg_catalog.age(xid) DESC LIMIT 1)";

// nullopt before version 14, and for a slot without statistics.
std::optional<SpillCounters> SpillOf(const PgResult& row) {
  if (!row.Get(0, "spill_bytes")) {
    return std::nullopt;
  }
  return SpillCounters{.spilled_transactions = static_cast<uint64_t>(row.Int(0, "spill_txns")),
                       .spilled_bytes = static_cast<uint64_t>(row.Int(0, "spill_bytes")),
                       .decoded_bytes = static_cast<uint64_t>(row.Int(0, "total_bytes"))};
}

// The setting is in MiB; -1 means no limit.
int64_t KeptBytes(int64_t mebibytes) {
  return mebibytes < 0 ? -1 : mebibytes << 20;
}

// The name of a WAL file begins with its timeline, in eight hexadecimal digits.
// Source: XLogFileName in src/include/access/xlog_internal.h. 0 for any other text.
uint32_t TimelineOfWalFile(std::string_view name) {
  uint32_t timeline = 0;
  const std::string_view digits = name.substr(0, 8);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), timeline, 16);
  return error == std::errc() && end == digits.data() + 8 ? timeline : 0;
}

// The statement's snapshot is older than the position that it reads. The system identifier comes
// from another query: it does not change while a connection lasts.
std::optional<XidReading> XidsOf(const PgResult& row, WallTime taken) {
  if (!row.Get(0, "horizon_xid")) {
    return std::nullopt;
  }
  return XidReading{.horizon = {.xid = static_cast<uint64_t>(row.Int(0, "horizon_xid")),
                                .insert_lsn = row.Position(0, "horizon_lsn"),
                                .taken = taken},
                    .next = {.xid = static_cast<uint64_t>(row.Int(0, "next_xid")), .taken = taken},
                    .timeline = TimelineOfWalFile(row.Text(0, "wal_file"))};
}

// nullopt without a reader.
std::optional<ReaderActivity> ActivityOf(const PgResult& row) {
  if (!row.Bool(0, "active")) {
    return std::nullopt;
  }
  return ReaderActivity{.wait_type = std::string(row.Text(0, "reader_wait_type")),
                        .wait_event = std::string(row.Text(0, "reader_wait_event"))};
}

// nullopt: before version 18, or off.
std::optional<Micros> IdleTimeoutOf(const PgResult& row) {
  const int64_t seconds = row.Int(0, "idle_seconds");
  return seconds > 0 ? std::optional<Micros>(std::chrono::seconds(seconds)) : std::nullopt;
}

SlotSample SampleOf(const PgResult& row) {
  const WallTime taken(row.Seconds(0, "taken").value_or(Micros(0)));
  return {.taken = taken,
          .exists = true,
          .row = SlotInfoOf(row),
          .wal_end = row.Position(0, "wal_lsn"),
          .max_retained_bytes = KeptBytes(row.Int(0, "wal_keep_mb")),
          .spill = SpillOf(row),
          .xids = XidsOf(row, taken),
          .flushed = row.Position(0, "flush_lsn"),
          .activity = ActivityOf(row),
          .idle_timeout = IdleTimeoutOf(row)};
}

// The end of the WAL shows that a stream that believes it still runs is not up to date.
absl::StatusOr<SlotSample> ReadWithoutSlot(PgConnection& connection, Micros timeout) {
  WR_ASSIGN_OR_RETURN(
      const PgResult row,
      connection.Query("SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN NULL "
                       "ELSE pg_catalog.pg_current_wal_flush_lsn() END AS flush_lsn",
                       timeout));
  return SlotSample{.flushed = row.Position(0, "flush_lsn")};
}

absl::StatusOr<std::optional<OldestTransaction>> ReadHolder(PgConnection& connection,
                                                            Micros timeout) {
  WR_ASSIGN_OR_RETURN(const PgResult row, connection.Query(std::string(kHolderQuery), timeout));
  if (row.rows() == 0) {
    return std::nullopt;
  }
  return OldestTransaction{.pid = static_cast<int>(row.Int(0, "pid")),
                           .prepared_as = std::string(row.Text(0, "gid")),
                           .user = std::string(row.Text(0, "owner")),
                           .application = std::string(row.Text(0, "application")),
                           .database = std::string(row.Text(0, "database")),
                           .age = row.Seconds(0, "age")};
}

}  // namespace

absl::StatusOr<std::vector<AwaitedStandby>> ReadAwaitedStandbys(PgConnection& connection,
                                                                Lsn position, Micros timeout) {
  WR_ASSIGN_OR_RETURN(const std::string setting,
                      ReadSetting(connection, "synchronized_standby_slots", timeout));
  if (setting.empty()) {
    return std::vector<AwaitedStandby>();
  }
  WR_ASSIGN_OR_RETURN(
      const PgResult rows,
      connection.Query("SELECT s.* FROM pg_catalog.pg_replication_slots s", timeout));
  std::vector<StandbySlot> slots;
  for (int i = 0; i < rows.rows(); ++i) {
    slots.push_back({.name = std::string(rows.Text(i, "slot_name")),
                     .logical = rows.Text(i, "slot_type") == "logical",
                     .active = rows.Bool(i, "active"),
                     .invalidated = rows.Get(i, "invalidation_reason").has_value() ||
                                    rows.Text(i, "wal_status") == "lost",
                     .restart_lsn = rows.Position(i, "restart_lsn")});
  }
  return AwaitedStandbys(setting, slots, position);
}

absl::StatusOr<SlotSample> ReadSlotSample(PgConnection& connection, const SourceConfig& source,
                                          Micros timeout) {
  const int version = connection.server_version_num();
  const bool counts = version >= kStatisticsVersion;
  const std::string columns = fmt::format("{}{}", kServerColumns, counts ? kSpillColumns : "");
  WR_ASSIGN_OR_RETURN(const PgResult row, connection.Query(SlotQuery(source.slot, version, columns,
                                                                     counts ? kSpillJoin : ""),
                                                           timeout));
  if (row.rows() == 0) {
    return ReadWithoutSlot(connection, timeout);
  }
  SlotSample sample = SampleOf(row);
  sample.budget = WalRetentionLimitOf(source);
  if (sample.row.restart_lsn.valid() && sample.held_bytes() > kWorthAsking) {
    WR_ASSIGN_OR_RETURN(sample.held_by, ReadHolder(connection, timeout));
  }
  if (sample.activity && sample.activity->wait_event == "WaitForStandbyConfirmation") {
    WR_ASSIGN_OR_RETURN(sample.standbys, ReadAwaitedStandbys(connection, sample.flushed, timeout));
  }
  return sample;
}

}  // namespace walrelay
