#include "recover/recovery_facts.h"

#include <fmt/format.h>

#include <string>

#include "base/quote.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// pg_partition_tree() returns the table itself, too; for a table without partitions, only that.
constexpr std::string_view kQuery = R"(
SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot()) AS next_xid,
       (SELECT s.catalog_xmin FROM pg_catalog.pg_replication_slots s
        WHERE s.slot_name OPERATOR(pg_catalog.=) {1}) AS slot_xmin,
       extract(epoch FROM pg_catalog.clock_timestamp()) AS taken,
       (SELECT pg_catalog.sum(pg_catalog.pg_stat_get_tuples_deleted(p.relid))
        FROM pg_catalog.unnest(ARRAY[{0}]::pg_catalog.oid[]) t,
             LATERAL (SELECT t AS relid
                      UNION
                      SELECT r.relid::pg_catalog.oid FROM pg_catalog.pg_partition_tree(t) r) p)
         AS deleted)";

}  // namespace

absl::StatusOr<RecoveryFacts> ReadRecoveryFacts(PgConnection& connection,
                                                std::span<const TableInfo> tables,
                                                std::string_view slot, Micros timeout) {
  std::string oids;
  for (const TableInfo& table : tables) {
    oids += fmt::format("{}{}", oids.empty() ? "" : ", ", table.oid);
  }
  WR_ASSIGN_OR_RETURN(const PgResult row,
                      connection.Query(fmt::format(kQuery, oids, QuoteLiteral(slot)), timeout));
  const auto next = static_cast<uint64_t>(row.Int(0, "next_xid"));
  const auto slot_xmin = static_cast<uint32_t>(row.Int(0, "slot_xmin"));
  return RecoveryFacts{
      .next = {.xid = next, .taken = WallTime(row.Seconds(0, "taken").value_or(Micros(0)))},
      .slot_from_xid = slot_xmin == 0 ? 0 : next - (static_cast<uint32_t>(next) - slot_xmin),
      .deleted_rows = static_cast<uint64_t>(row.Int(0, "deleted"))};
}

}  // namespace walrelay
