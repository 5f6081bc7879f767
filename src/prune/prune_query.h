// The SQL of pruning: deletes or marks rows that are proven to be published.
//
// A statement covers a range of pages, so it needs no index and no sort, and reads each page once.
// It contains IsServerOf(): a statement that reaches another server, or that a suspended process
// sends late, changes nothing.
//
// A row is pruned only if its xmin is in the proven range (modulo 2^32: Postgres shows the low 32
// bits), it is older than `keep`, and its time is after the beginning of the range: see decision
// 0021.
//
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "prune/prune_action.h"
#include "prune/prune_proof.h"

namespace walrelay {

struct PruneConfig;

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

// Columns of the result's only row: same_server; pruned; kept: rows of the range that are older
// than `keep` and not proven; oldest_kept: the age of the oldest of these in seconds, or NULL.
// Deletes unless the mode is kMark. REQUIRES: the mode is not kOff.
std::string PruneQuery(const PruneConfig& config, const PruneTable& table, const PruneProof& proof,
                       PruneAction action, PageRange range, int server_version);

// Whether the server reads a range of pages without reading the whole table.
bool ScansRanges(int server_version);

// Selects the tables whose rows are pruned one by one: with kDrop only DEFAULT partitions, which
// are never dropped. Columns: schema, name, pages, time_type, mark_type (NULL if there is no such
// column), granted. `oids`: of leaves whose rows the stream contains (ReadTableInfo()).
std::string PruneTablesQuery(const PruneConfig& config, const std::vector<uint32_t>& oids);

}  // namespace walrelay
