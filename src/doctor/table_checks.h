// Checks of the outbox tables: whether their rows can be counted, rows that are not published,
// wasted space.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "findings/findings.h"
#include "outbox/table_reading.h"
#include "postgres/connection.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct SourceConfig;

// On an ordinary connection. Waits a few seconds for a running relay that is just behind. An error
// is a failed query; the findings are in `out`. `record`: of the progress topic, if there is one.
// Returns the age of the oldest row that is not published, if it is known.
absl::StatusOr<std::optional<Micros>> CheckTables(PgConnection& connection,
                                                  const SourceConfig& source,
                                                  const std::vector<TableInfo>& tables,
                                                  const std::optional<Progress>& record,
                                                  Findings& out);

// The findings about one table; `role`: of the connection. Needs no server.
void CheckTable(const TableReading& table, const std::string& role, Findings& out);

}  // namespace walrelay
