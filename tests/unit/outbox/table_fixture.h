// Descriptions of tables for the tests of their mapping.
#pragma once

#include <string>
#include <vector>

#include "outbox/table_description.h"
#include "pgoutput/type_oids.h"

namespace walrelay {

inline DescribedColumn Column(std::string name, uint32_t type_oid, bool not_null = true) {
  return {.name = std::move(name), .type = "the type", .type_oid = type_oid, .not_null = not_null};
}
inline DescribedColumn TextColumn(std::string name) {
  return Column(std::move(name), pgoutput::kTextOid);
}

inline TableDescription Table(std::vector<DescribedColumn> columns) {
  return {.schema = "public",
          .name = "events",
          .columns = std::move(columns),
          .primary_key = {"id"},
          .estimated_rows = 1200};
}

// With walrelay's default names.
inline TableDescription DefaultTable() {
  return Table({Column("id", pgoutput::kUuidOid), TextColumn("aggregate_type"),
                TextColumn("aggregate_id"), TextColumn("event_type"),
                Column("payload", pgoutput::kJsonbOid)});
}

}  // namespace walrelay
