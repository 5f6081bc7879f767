// Reads all outbox tables once, for a command that has no relay at hand.
//
// The slot proves what is published: walrelay confirms only positions up to which every event is
// published. So does the progress record, if there is one.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/table_reading.h"
#include "postgres/connection.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct SourceConfig;

// On an ordinary connection; each query blocks for at most `timeout`. Waits for up to `patience`
// while a running relay confirms what was committed before the call. `record`: of this pipeline,
// read before the call. The tables that exist, in the order of `tables`.
absl::StatusOr<std::vector<TableReading>> SurveyTables(PgConnection& connection,
                                                       const SourceConfig& source,
                                                       const std::vector<TableInfo>& tables,
                                                       const std::optional<Progress>& record,
                                                       Micros patience, Micros timeout);

}  // namespace walrelay
