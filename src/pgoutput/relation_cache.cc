#include "pgoutput/relation_cache.h"

#include "pgoutput/type_oids.h"

namespace walrelay::pgoutput {

// A domain that was changed to another base type is described again.
// The server sends a domain with the name of its base type, under the domain's own OID. Only
// built-in types have an OID that is the same on every server.
void RelationCache::OnType(const Type& type) {
  const uint32_t built_in = type.schema == "pg_catalog" ? OidOfType(type.name) : 0;
  if (built_in != 0) {
    domains_[type.oid] = built_in;
  } else {
    domains_.erase(type.oid);
  }
}

// Replaces the whole description: columns may have been added, dropped or renamed.
const CachedRelation& RelationCache::Replace(const Relation& relation) {
  auto cached = std::make_unique<CachedRelation>();
  cached->oid = relation.oid;
  cached->schema = relation.schema;
  cached->name = relation.name;
  cached->columns.reserve(relation.columns.size());
  for (const Column& column : relation.columns) {
    const auto domain = domains_.find(column.type_oid);
    cached->columns.push_back({std::string(column.name),
                               domain == domains_.end() ? column.type_oid : domain->second,
                               column.type_modifier});
  }
  others_.erase(relation.oid);
  auto& slot = relations_[relation.oid];
  slot = std::move(cached);
  return *slot;
}

void RelationCache::Forget(uint32_t oid) {
  relations_.erase(oid);
  others_.insert(oid);
}

const CachedRelation* RelationCache::Find(uint32_t oid) const {
  const auto found = relations_.find(oid);
  return found == relations_.end() ? nullptr : found->second.get();
}

}  // namespace walrelay::pgoutput
