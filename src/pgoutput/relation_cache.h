// RelationCache: the server's descriptions of tables, by OID.
//
// The server describes a table before its first row in a session, and again after a change; the
// last description applies. OIDs and columns are not valid in another session: call Clear() at each
// connection. With FOR ALL TABLES the server describes every table of the database: for tables that
// are not outbox tables only the OID is kept (Forget()).
//
// Types that are not built in are described as well, each before the first table that uses it. A
// domain is described with the name of its base type, and its values are sent as that type's: a
// column of a domain therefore shows the base type's OID.
//
// Not thread-safe; one cache serves one stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "pgoutput/message.h"

namespace walrelay::pgoutput {

// Copies: the description outlives the message that it came in.
// `type_oid` is that of the base type for a column of a domain over a type in type_oids.h.
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
  // Notes a domain's base type, for tables that are described later.
  // A type that is not a domain over a known built-in type is not stored.
  void OnType(const Type& type);

  // Stores a Relation message. The result is valid until the next one of the same OID, or Clear().
  // Also ends a Forget() of the same OID. A reference to the previous description is invalid
  // afterwards, references to other tables stay valid.
  const CachedRelation& Replace(const Relation& relation);

  // Drops the columns of a table whose rows are never read; IsDescribed() remains true for it.
  void Forget(uint32_t oid);

  // nullptr: the server has not described this table, or it was forgotten.
  const CachedRelation* Find(uint32_t oid) const;
  // Whether the server has described this table; a row of any other table is a protocol violation.
  bool IsDescribed(uint32_t oid) const { return relations_.contains(oid) || others_.contains(oid); }
  // Number of entries for other objects: OIDs of tables and domains. On a server where tables are
  // created and dropped for months it grows.
  // The relay reconnects when it becomes too large, which clears the cache.
  size_t others() const { return others_.size() + domains_.size(); }

  // Invalidates all references.
  void Clear() {
    relations_.clear();
    others_.clear();
    domains_.clear();
  }

  // On the heap, so that references stay valid while the map grows.
 private:
  absl::flat_hash_map<uint32_t, std::unique_ptr<CachedRelation>> relations_;
  absl::flat_hash_set<uint32_t> others_;
  // OID of the base type, if it is in type_oids.h
  absl::flat_hash_map<uint32_t, uint32_t> domains_;
};

}  // namespace walrelay::pgoutput
