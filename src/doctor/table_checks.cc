#include "doctor/table_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/quote.h"
#include "outbox/table_health.h"
#include "outbox/table_words.h"
#include "postgres/table_survey.h"
#include "stream/record_cadence.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A running relay confirms WAL of other tables this late.
constexpr Micros kPatience = RecordCadence::kPositionInterval + std::chrono::seconds(3);

struct Obstacle {
  std::string text;
  std::string remedy;
};

// Why the rows were not counted. REQUIRES: they were not.
Obstacle ObstacleOf(const TableReading& table, const std::string& role) {
  const std::string quoted = QuoteIdentifier(role);
  if (table.unread == RowsUnread::kNoSelect) {
    return {fmt::format("role {} may not read it", role),
            fmt::format("GRANT USAGE ON SCHEMA {0} TO {1}; GRANT SELECT ON {2} TO {1};",
                        QuoteIdentifier(table.schema), quoted, table.sql_name)};
  }
  if (table.unread == RowsUnread::kPolicy) {
    return {fmt::format("row-level security would hide rows from role {}", role),
            fmt::format("ALTER ROLE {} BYPASSRLS;  -- or a policy that shows it all rows, and set "
                        "metrics.table_count_interval = \"0s\" to ignore this",
                        quoted)};
  }
  return {MessageOf(table.failure),
          "Run walrelay doctor again. If the count takes too long each time, set "
          "metrics.table_count_interval = \"0s\"."};
}

void CheckReadable(const TableReading& table, const std::string& role, Findings& out) {
  if (table.unread == RowsUnread::kNone) {
    out.Good("table.readable",
             fmt::format("role {} may read table {}.{}", role, table.schema, table.name));
    return;
  }
  Obstacle obstacle = ObstacleOf(table, role);
  out.Warn("table.readable",
           fmt::format("the rows of table {}.{} are not counted: {}", table.schema, table.name,
                       obstacle.text),
           std::move(obstacle.remedy));
}

void CheckUnpublished(const TableReading& table, Findings& out) {
  if (!table.unpublished && table.unread != RowsUnread::kNone) {
    return;  // table.readable has reported why
  }
  if (table.unsent && table.unsent->rows > 0) {
    out.Warn("table.unpublished", RowsWords(table),
             "The finding publication.complete names the parts. walrelay republish publishes their "
             "rows.");
  } else if (table.unpublished && table.unpublished->rows > 0) {
    out.Warn("table.unpublished", RowsWords(table),
             "Start walrelay run, or fix what the findings about slot, Kafka and progress name; "
             "walrelay status shows what a running relay waits for.");
  } else {
    out.Good("table.unpublished", RowsWords(table));
  }
}

void CheckWaste(const TableReading& table, Findings& out) {
  const auto dead = DeadRowsProblem(table);
  const auto bloat = BloatProblem(table);
  if (dead) {
    out.Warn("table.dead_rows", dead->text, dead->remedy);
  }
  if (bloat) {
    out.Warn("table.bloat", bloat->text, bloat->remedy);
  }
  if (!dead && !bloat) {
    out.Good("table.bloat",
             fmt::format("table {}.{}: {}", table.schema, table.name, SizeWords(table)));
  }
}

}  // namespace

void CheckTable(const TableReading& table, const std::string& role, Findings& out) {
  CheckReadable(table, role, out);
  CheckUnpublished(table, out);
  CheckWaste(table, out);
}

absl::StatusOr<std::optional<Micros>> CheckTables(PgConnection& connection,
                                                  const SourceConfig& source,
                                                  const std::vector<TableInfo>& tables,
                                                  const std::optional<Progress>& record,
                                                  Findings& out) {
  WR_ASSIGN_OR_RETURN(const auto readings, SurveyTables(connection, source, tables, record,
                                                        kPatience, source.connect_timeout));
  std::optional<Micros> oldest;
  for (const TableReading& table : readings) {
    CheckTable(table, connection.user(), out);
    if (table.oldest_unpublished) {
      oldest = std::max(oldest.value_or(Micros(0)), *table.oldest_unpublished);
    }
  }
  return oldest;
}

}  // namespace walrelay
