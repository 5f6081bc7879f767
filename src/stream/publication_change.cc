#include "stream/publication_change.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/fnv.h"

namespace walrelay {
namespace {

// nullptr: the reading does not have the table.
const TableIdentity* FindTable(const PublicationIdentity& publication, std::string_view name) {
  const auto found = std::find_if(publication.tables.begin(), publication.tables.end(),
                                  [&](const TableIdentity& each) { return each.name == name; });
  return found == publication.tables.end() ? nullptr : &*found;
}

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

// The first leaf whose rows are not received any more, or for another reason.
std::string LeafChange(const TableIdentity& before, const TableIdentity& now) {
  for (const TableLeaf& leaf : now.unsent) {
    const auto same = [&](const TableLeaf& each) {
      return each.oid == leaf.oid && each.stream == leaf.stream;
    };
    if (std::none_of(before.unsent.begin(), before.unsent.end(), same)) {
      return fmt::format("{} (of table {})", WhyUnsent(leaf), now.name);
    }
  }
  return "";
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
  return LeafChange(before, now);
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
    const TableIdentity* const known = FindTable(before, table.name);
    std::string change = known != nullptr ? TableChange(*known, table, now.all_tables) : "";
    if (!change.empty()) {
      return change;
    }
  }
  return "";
}

bool WroteAgain(const PublicationIdentity& before, const PublicationIdentity& now) {
  return std::any_of(now.tables.begin(), now.tables.end(), [&](const TableIdentity& table) {
    const TableIdentity* const known = FindTable(before, table.name);
    return known != nullptr &&
           std::any_of(table.rewritten.begin(), table.rewritten.end(), [&](const auto& leaf) {
             return std::find(known->rewritten.begin(), known->rewritten.end(), leaf) ==
                    known->rewritten.end();
           });
  });
}

std::string WhyUnsent(const TableLeaf& leaf) {
  WR_CHECK(leaf.stream != LeafStream::kSent, "the rows are not sent");
  switch (leaf.stream) {
    case LeafStream::kUnlogged:
      return fmt::format("{} is unlogged", leaf.name);
    case LeafStream::kForeign:
      return fmt::format("{} is a foreign table", leaf.name);
    case LeafStream::kUnpublished:
      return fmt::format("{} is not in the publication", leaf.name);
    default:
      return fmt::format("{} is sent under a name that is not configured", leaf.name);
  }
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
    for (const TableLeaf& leaf : table.unsent) {
      hash.Add(fmt::format("unsent {} {}", leaf.oid, static_cast<int>(leaf.stream)));
    }
    for (const RewrittenLeaf& leaf : table.rewritten) {
      hash.Add(fmt::format("rewritten {} {}", leaf.oid, leaf.storage));
    }
  }
  return std::max<uint64_t>(hash.value(), 1);
}

}  // namespace walrelay
