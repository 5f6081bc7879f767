// TableBinding: where in a row of this session each part of an event stands.
//
// Columns are found by name at each Relation message, never by position: a column may be added or
// dropped between two rows. A binding that lacks a column it needs is kept together with the
// reason, which is told when a row is to be routed with it: rows that are not events do not need
// columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "pgoutput/relation_cache.h"
#include "walrelay/config.h"

namespace walrelay {

struct BoundColumn {
  int index = -1;  // -1: the part is not played
  uint32_t type_oid = 0;

  bool present() const { return index >= 0; }
};

struct TableBinding {
  absl::Status status;  // WR-3001 or WR-3002 when rows cannot be routed

  size_t column_count = 0;
  BoundColumn id;
  BoundColumn aggregate_type;
  BoundColumn aggregate_id;
  BoundColumn event_type;
  BoundColumn payload;
  BoundColumn trace_id;
  BoundColumn timestamp;
  BoundColumn partition;

  struct HeaderColumn {
    BoundColumn column;
    std::string name;
  };
  std::vector<HeaderColumn> headers;  // placements, in the order of the configuration
};

TableBinding BindTable(const pgoutput::CachedRelation& relation, const OutboxTable& table,
                       const RouteConfig& route);

}  // namespace walrelay
