// PublicationIdentity: which publication this is, and which catalog rows make it send the outbox
// tables.
//
// Two looks that find the same identity prove that no row was hidden in between: a table that was
// removed and added again has another catalog row, and an option that was switched and switched
// back leaves another xmin on the publication's row. Freezing and VACUUM FULL do not change the
// xmin that is shown (Postgres 13 to 18).
//
// Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "walrelay/lsn.h"

namespace walrelay {

// A catalog row by which a publication has a table: of pg_publication_rel, or (Postgres 15 and
// later) of pg_publication_namespace. An ALTER PUBLICATION that leaves the table as it is keeps the
// row; each other change replaces it.
struct Membership {
  uint32_t oid = 0;
  uint32_t xmin = 0;

  friend bool operator==(const Membership&, const Membership&) = default;
};

// One outbox table, by its configured name.
struct TableIdentity {
  std::string name;  // schema.table
  uint32_t oid = 0;  // 0: no table of that name
  uint32_t owner = 0;
  // xmin of the table's row type: changes when the table is renamed, moved to another schema, or
  // gets another owner, and with nothing else.
  uint32_t renamed_by = 0;
  bool unlogged = false;
  std::vector<Membership> memberships;  // its own, its schema's, its partition ancestors'

  friend bool operator==(const TableIdentity&, const TableIdentity&) = default;
};

struct PublicationIdentity {
  uint32_t oid = 0;  // 0: no publication of that name
  uint32_t xmin = 0;
  uint32_t owner = 0;
  bool all_tables = false;
  std::vector<TableIdentity> tables;  // as configured, in that order; without those of no name

  friend bool operator==(const PublicationIdentity&, const PublicationIdentity&) = default;
};

// One look at it, placed in the WAL.
struct PublicationLook {
  PublicationIdentity identity;
  Lsn before;  // the look came after everything that was committed before this position
  Lsn after;   // and before everything that was committed behind this one
};

}  // namespace walrelay
