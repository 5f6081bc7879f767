// Detects whether rows may have been hidden between two readings of the publication.
//
// The catalog does not distinguish an option that was changed and changed back from one that was
// set to its current value: both result in another xmin. Such a change counts. Changes that cannot
// hide rows do not count: another owner, ALTER PUBLICATION ... SET TABLE that keeps the table,
// other tables, columns, indexes, grants, VACUUM.
//
// Not detected: an outbox table of a FOR ALL TABLES publication that is set UNLOGGED and LOGGED
// again between two readings, and a schema that is renamed and renamed back.
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
// both readings are of the publication with the same name.
std::string HidingChange(const PublicationIdentity& before, const PublicationIdentity& now);

// A hash of the identity, the same in every process; not 0. Readings between which HidingChange()
// finds a change have different ones; the reverse does not hold.
uint64_t PublicationFingerprint(const PublicationIdentity& publication);

}  // namespace walrelay
