// RelationCache: what the server said of each table, by OID.
//
// The server describes a table before its first row in a session, and again after a change; the
// last word counts. OIDs and columns mean nothing in another session: Clear() at each connection.
// With FOR ALL TABLES that is every table of the database: of those that are no outbox only the OID
// is kept (Forget()).
//
// Types that are not built in are described as well, each before the table that has it. A domain
// comes under the name of the type beneath it, and its values are sent as that type's: so a column
// shows that type's OID, as if there were no domain.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "pgoutput/message.h"

namespace walrelay::pgoutput {

struct CachedColumn {
  std::string name;
  uint32_t type_oid = 0;
  int32_t type_modifier = -1;
};

struct CachedRelation {
  uint32_t oid = 0;
  std::string schema;
  std::string name;
  std::vector<CachedColumn> columns;
};

class RelationCache {
 public:
  void OnType(const Type& type);

  // Takes in a Relation message. The result lives until the next one of the same OID, or Clear().
  const CachedRelation& Replace(const Relation& relation);

  // Drops the columns of a table whose rows are never read; IsDescribed() still knows it.
  void Forget(uint32_t oid);

  // nullptr: the server never described this table, or it was forgotten.
  const CachedRelation* Find(uint32_t oid) const;
  // Whether the server described this table; a row of another one is a protocol violation.
  bool IsDescribed(uint32_t oid) const { return relations_.contains(oid) || others_.contains(oid); }
  // Entries for what is no outbox: OIDs of tables and domains. A server on which tables are made
  // and dropped for months makes this grow.
  size_t others() const { return others_.size() + domains_.size(); }

  void Clear() {
    relations_.clear();
    others_.clear();
    domains_.clear();
  }

 private:
  absl::flat_hash_map<uint32_t, std::unique_ptr<CachedRelation>> relations_;
  absl::flat_hash_set<uint32_t> others_;
  absl::flat_hash_map<uint32_t, uint32_t> domains_;  // over a type of type_oids.h: its OID
};

}  // namespace walrelay::pgoutput
