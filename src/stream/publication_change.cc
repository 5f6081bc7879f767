#include "stream/publication_change.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fnv.h"

namespace walrelay {
namespace {

// Whether a membership row is unchanged, so that the table was published throughout.
// A table may be a member by several rows: its own, its schema's, those of its partition ancestors.
// One row that lasted is enough.
bool StayedMember(const TableIdentity& before, const TableIdentity& now) {
  return std::any_of(
      before.memberships.begin(), before.memberships.end(), [&](const Membership& membership) {
        return std::find(now.memberships.begin(), now.memberships.end(), membership) !=
               now.memberships.end();
      });
}

// The causes in this order: each makes the comparisons after it meaningless.
std::string TableChange(const TableIdentity& before, const TableIdentity& now, bool all_tables) {
  if (now.oid == 0) {
    return fmt::format("table {} no longer exists", now.name);
  }
  if (now.unlogged != before.unlogged) {
    return fmt::format("table {} is now {}", now.name, now.unlogged ? "unlogged" : "logged");
  }
  // A table that is recreated under a FOR ALL TABLES publication, or in a published schema, is
  // published from its first row on.
  if (!all_tables && !StayedMember(before, now)) {
    return now.oid != before.oid
               ? fmt::format("table {} was recreated", now.name)
               : fmt::format("table {} was removed from the publication{}", now.name,
                             now.memberships.empty() ? "" : " and added again");
  }
  // A change of the owner also updates the row type's xmin, and hides nothing.
  const bool renamed = now.renamed_by != before.renamed_by && now.owner == before.owner;
  if (now.oid == before.oid && renamed) {
    return fmt::format("table {} was renamed or moved, and changed back", now.name);
  }
  return "";
}

}  // namespace

// An ALTER PUBLICATION ... OWNER TO updates the row as well; it is the only change of the row that
// hides nothing.
std::string HidingChange(const PublicationIdentity& before, const PublicationIdentity& now) {
  if (now.oid != before.oid) {
    return now.oid == 0 ? "the publication no longer exists" : "the publication was recreated";
  }
  if (now.xmin != before.xmin && now.owner == before.owner) {
    return "the publication was altered";
  }
  for (const TableIdentity& table : now.tables) {
    const auto known =
        std::find_if(before.tables.begin(), before.tables.end(),
                     [&](const TableIdentity& each) { return each.name == table.name; });
    std::string change =
        known != before.tables.end() ? TableChange(*known, table, now.all_tables) : "";
    if (!change.empty()) {
      return change;
    }
  }
  return "";
}

uint64_t PublicationFingerprint(const PublicationIdentity& publication) {
  Fnv64 hash;
  hash.Add(fmt::format("{} {} {}", publication.oid, publication.xmin, publication.all_tables));
  for (const TableIdentity& table : publication.tables) {
    hash.Add(table.name);
    hash.Add(fmt::format("{} {} {}", table.oid, table.renamed_by, table.unlogged));
    for (const Membership& membership : table.memberships) {
      hash.Add(fmt::format("{} {}", membership.oid, membership.xmin));
    }
  }
  return std::max<uint64_t>(hash.value(), 1);
}

}  // namespace walrelay
