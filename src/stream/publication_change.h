// Detects whether rows may have been hidden between two readings of the publication.
//
// The catalog does not distinguish an option that was changed and changed back from one that was
// set to its current value: both result in another xmin. Such a change counts. Changes that cannot
// hide rows do not count: another owner, ALTER PUBLICATION ... SET TABLE that keeps the table,
// other tables, columns, indexes, grants, VACUUM.
//
// Not detected: a partition, or an outbox table that the publication does not list by its name,
// that is set UNLOGGED and LOGGED again between two readings, which WroteAgain() sees; and a schema
// that is renamed and renamed back.
//
// Tables are compared by name: of a table that only one of the readings has, nothing is known that
// could have changed. So the configured tables may differ between the two readings.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "walrelay/publication_identity.h"

namespace walrelay {

// Describes a change since `before` that may have hidden rows; "" when there is none. REQUIRES:
// both readings describe the publication with the same name.
std::string HidingChange(const PublicationIdentity& before, const PublicationIdentity& now);

// Whether the storage of a leaf was rewritten since `before`, so that the leaf may have been
// unlogged for some time. Then the xmin of its rows proves nothing. HidingChange() does not find
// it: VACUUM FULL and TRUNCATE rewrite the storage, too. REQUIRES: as HidingChange().
bool WroteAgain(const PublicationIdentity& before, const PublicationIdentity& now);

// "public.outbox_p1 is unlogged". REQUIRES: the rows of the leaf are not sent.
std::string WhyUnsent(const TableLeaf& leaf);

// A hash of the identity, the same in every process; not 0. Readings between which HidingChange()
// or WroteAgain() finds a change have different ones; the reverse does not hold.
uint64_t PublicationFingerprint(const PublicationIdentity& publication);

}  // namespace walrelay
