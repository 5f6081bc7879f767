// TableDescription: what the catalog says about an existing table.
//
// Plain data. Names are as in the catalog.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace walrelay {

struct DescribedColumn {
  std::string name;
  std::string type;       // as Postgres prints it: "character varying(255)"
  uint32_t type_oid = 0;  // of a domain: its base type
  bool not_null = false;
};

struct TableDescription {
  enum class Kind : uint8_t { kTable, kPartitioned, kPartition, kOther };

  std::string schema;
  std::string name;
  Kind kind = Kind::kTable;
  std::string root;  // kPartition: the partitioned table, "schema.table"
  bool unlogged = false;
  std::string partition_key;  // kPartitioned: "RANGE (created_at)"
  // In their order; without generated columns, which the stream does not contain.
  std::vector<DescribedColumn> columns;
  std::vector<std::string> primary_key;
  std::vector<std::string> publications;  // that publish the table
  int64_t estimated_rows = -1;            // the planner's estimate; -1: unknown
};

}  // namespace walrelay
