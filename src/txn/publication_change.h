// Whether rows may have been hidden between two looks at the publication.
//
// The catalog cannot tell an option that was switched and switched back from one that was set to
// the value it had: both leave another xmin. Such a change counts. What cannot hide rows does not:
// another owner, ALTER PUBLICATION ... SET TABLE that keeps the table, other tables, columns,
// indexes, grants, VACUUM.
//
// Not seen: an outbox table of a FOR ALL TABLES publication that is set UNLOGGED and LOGGED again
// between two looks, and a schema that is renamed and renamed back.
//
// Pure function.
#pragma once

#include <string>

#include "walrelay/publication_identity.h"

namespace walrelay {

// What changed since `before` so that rows may have been hidden, in words; "" when nothing did.
// REQUIRES: both looks are of the same configuration.
std::string HidingChange(const PublicationIdentity& before, const PublicationIdentity& now);

}  // namespace walrelay
