// The SQL of pruning: deletes or marks rows that are proven to be published.
//
// A statement covers a range of pages, so it needs no index and no sort, and reads each page once.
// It names the server itself: the timeline, and the walsender that reads the slot. A statement that
// reaches another server, or that a suspended process sends late, changes nothing.
//
// A row is pruned only if its xmin is in the proven range (modulo 2^32: Postgres shows the low 32
// bits), it is older than `keep`, and its time is after the beginning of the range: see decision
// 0021.
//
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "stream/published_xids.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"

namespace walrelay {

// What is proven about the rows of one server, and how that server is recognized.
struct PruneProof {
  PublishedXids xids;
  uint32_t timeline = 0;
  int backend_pid = 0;  // of the walsender that reads the slot
  std::string slot;
};

// A table with rows: not partitioned, or a partition.
struct PruneTable {
  std::string schema;
  std::string name;
  uint32_t pages = 0;
  bool time_has_zone = true;
  bool mark_is_boolean = false;  // otherwise a timestamp
};

struct PageRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// Columns of the result's only row: same_server, pruned, and kept: rows of the range that are older
// than `keep` and were not pruned. REQUIRES: the mode is not kOff.
std::string PruneQuery(const PruneConfig& config, const PruneTable& table, const PruneProof& proof,
                       PageRange range, int server_version);

// Whether the server reads a range of pages without reading the whole table.
bool ScansRanges(int server_version);

// The tables with rows of a configured table: itself, or its partitions. Columns: schema, name,
// pages, time_type, mark_type (NULL if there is no such column), granted. No row: no such table.
std::string PruneTablesQuery(const PruneConfig& config, const OutboxTable& table);

}  // namespace walrelay
