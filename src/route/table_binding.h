// TableBinding: maps each part of an event to its column, for one table of this session.
//
// Columns are found by name at each Relation message, never by position: a column may be added or
// dropped between two rows. A binding that lacks a required column is kept with the reason, which
// is reported when a row is routed with it: rows that are not events do not need the columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "pgoutput/relation_cache.h"
#include "route/bound_column.h"
#include "walrelay/config/source.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct FormatConfig;
struct RouteConfig;

// Valid for one description of a table; a new description makes a new binding.
struct TableBinding {
  absl::Status status;  // WR-3001 or WR-3002 when rows cannot be routed

  size_t column_count = 0;
  std::vector<size_t> used;              // the columns that the record is built from, each once
  std::vector<BoundColumn> transformed;  // those that have a transform, used or not
  std::vector<EnumColumn> enums;
  BoundColumn id;
  BoundColumn aggregate_type;
  BoundColumn aggregate_id;
  BoundColumn event_type;
  BoundColumn payload;
  BoundColumn trace_id;
  BoundColumn traceparent;
  BoundColumn tracestate;
  BoundColumn span_context;
  BoundColumn timestamp;
  BoundColumn partition;
  BoundColumn version;

  struct NamedColumn {
    BoundColumn column;
    std::string name;
  };
  std::vector<NamedColumn> headers;  // placements, in configuration order
  std::vector<NamedColumn> members;  // of the envelope, after the payload
  bool of_messages = false;          // of logical messages, not of a table
  bool payload_is_json = false;      // of a message: represented with its members, not as text
  bool enveloped = false;            // even when the columns of all its members are missing
  std::string payload_name;          // name of the payload's column
  std::string schema_name;  // "PREFIX.schema.table", of the envelope's schema; "": of messages
};

// The settings for binding a table, besides its own mapping. All references must outlive the call.
struct BindingContext {
  const RouteConfig& route;
  const FormatConfig& format;
  MissingColumns missing_columns = MissingColumns::kFail;
  const TableInfo* info = nullptr;  // nullptr: the columns are unknown
};

// Never fails: what is wrong with the table is in the result's status.
// Pure. `context.info` adds what the stream does not contain: NOT NULL, defaults and enum labels,
// which Connect's formats need. The status is the first problem found: WR-3001 for a missing
// column, WR-3002 for a type that its purpose does not permit.
TableBinding BindTable(const pgoutput::CachedRelation& relation, const OutboxTable& table,
                       const BindingContext& context);

}  // namespace walrelay
