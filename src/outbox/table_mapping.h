// TableMapping: which column of an existing table is which part of an event, and why.
//
// Columns are found by their names (column_names.h) and types. If something cannot be known, the
// mapping makes the best available choice, and lists it as a decision for the operator.
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/table_description.h"

namespace walrelay {

// A column, "" for none, and the reason for it: a sentence without its full stop.
struct MappedColumn {
  std::string column;
  std::string reason;
};

struct TableMapping {
  MappedColumn id;
  MappedColumn aggregate_type;
  MappedColumn aggregate_id;
  MappedColumn event_type;
  MappedColumn payload;
  MappedColumn trace_id;
  MappedColumn traceparent;
  MappedColumn tracestate;
  // The value of route.topic.
  std::string topic;
  std::string topic_reason;
  // For route.timestamp, and for the age of rows.
  std::optional<MappedColumn> time;
  // Columns that become headers of their name.
  std::vector<std::string> headers;
  // A timestamp or a boolean that is set once an event was published.
  std::optional<MappedColumn> mark;
  // A library that needs the rows after they are published, so that they may neither be deleted nor
  // marked; "": none is known.
  std::string rows_belong_to;
  // Decisions for the operator, and facts that the operator must know: sentences, each about one
  // thing.
  std::vector<std::string> decisions;
  // Columns that no part of a record has.
  std::vector<std::string> unpublished;
};

// Errors: WR-2310 for a table that cannot be an outbox, with the reason; WR-2305 for an unlogged
// one.
absl::StatusOr<TableMapping> MapTable(const TableDescription& table);

}  // namespace walrelay
