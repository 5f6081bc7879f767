// PublicationIdentity: identifies a publication, and the catalog rows by which it publishes the
// outbox tables.
//
// Two equal identities prove that no row was hidden in between: a table that was removed and added
// again has another catalog row, and an option that was changed and changed back leaves another
// xmin on the publication's row. Freezing and VACUUM FULL do not change the displayed xmin
// (Postgres 13 to 18).
//
// Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "walrelay/lsn.h"

namespace walrelay {

// A catalog row by which a table is in a publication: of pg_publication_rel, or (Postgres 15 and
// later) of pg_publication_namespace. An ALTER PUBLICATION that does not change the table's
// membership keeps the row; every other change replaces it.
struct Membership {
  uint32_t oid = 0;
  uint32_t xmin = 0;

  friend bool operator==(const Membership&, const Membership&) = default;
};

// How the rows of a leaf reach the stream.
enum class LeafStream : uint8_t {
  kSent,         // under the name of a configured table
  kUnlogged,     // not at all: they are not written to the WAL
  kForeign,      // not at all: another server stores them
  kUnpublished,  // not at all: the publication does not contain them
  kOtherName,    // under a name that is not configured, so walrelay ignores them
};

// A table that stores rows of an outbox table: the outbox table itself, a partition that is not
// divided further, or a table that inherits from the outbox table.
struct TableLeaf {
  uint32_t oid = 0;
  std::string name;  // schema.table
  LeafStream stream = LeafStream::kSent;
  uint32_t sent_as = 0;    // the table under whose name its rows are sent; 0: none
  bool partition = false;  // of the outbox table; false: the table itself, or one that inherits
  uint32_t attached_by =
      0;  // the xid that made it, or a table above it, a part of the outbox table

  friend bool operator==(const TableLeaf&, const TableLeaf&) = default;
};

// The storage of a leaf that was written again, by ALTER TABLE, VACUUM FULL, TRUNCATE or another
// command. The xmin of its rows may be that of the command.
struct RewrittenLeaf {
  uint32_t oid = 0;
  uint32_t storage = 0;  // pg_class.relfilenode

  friend bool operator==(const RewrittenLeaf&, const RewrittenLeaf&) = default;
};

// One outbox table, by its configured name.
// Compared by value: two readings of an unchanged table are equal.
struct TableIdentity {
  std::string name;  // schema.table
  uint32_t oid = 0;  // 0: no table of that name
  uint32_t owner = 0;
  // xmin of the table's row type: changes when the table is renamed, moved to another schema, or
  // gets another owner, and with nothing else.
  uint32_t renamed_by = 0;
  bool unlogged = false;
  std::vector<Membership> memberships;  // its own, its schema's, its partition ancestors'
  std::vector<TableLeaf> unsent;        // the leaves whose rows walrelay does not receive
  // The leaves whose storage was rewritten, and that may have been unlogged for some time. Postgres
  // does not let a table that the publication lists become unlogged.
  std::vector<RewrittenLeaf> rewritten;

  friend bool operator==(const TableIdentity&, const TableIdentity&) = default;
};

// All that decides which rows of the outbox tables are published.
struct PublicationIdentity {
  uint32_t oid = 0;  // 0: no publication of that name
  uint32_t xmin = 0;
  uint32_t owner = 0;
  bool all_tables = false;
  std::vector<TableIdentity> tables;  // in configured order; without tables that have no name

  friend bool operator==(const PublicationIdentity&, const PublicationIdentity&) = default;
};

// One reading of the identity, with its place in the WAL.
// A change that was reverted between two readings is found by comparing identities, not positions;
// the positions bound the time of the change.
struct PublicationState {
  PublicationIdentity identity;
  Lsn before;  // read after everything that was committed before this position
  Lsn after;   // and before everything that was committed after this one
};

}  // namespace walrelay
