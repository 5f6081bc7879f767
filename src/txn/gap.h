// Gap: events that may be missing, and what is known of them.
//
// An operator who accepts a gap names it: the id says which kind it is and what was found, so that
// the acceptance of one gap never covers another.
//
// Pure functions.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "walrelay/lsn.h"
#include "walrelay/publication_identity.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct Gap {
  absl::Status error;  // reaction kGap
  std::string id;      // "2106-5f3a9c01": the same while the same is found
  // Events between these positions may be missing; 0/0: not known. Positions are those of commits;
  // after WR-2110 those of the rows, whose transaction may have ended later. After WR-2202 it is
  // Kafka that may have events of that range which the database does not know.
  Lsn from;
  Lsn to;
};

// `frontier`: everything before it was acknowledged; 0/0 when nothing was read yet. `publication`:
// the last look that found nothing wrong. `facts`: what the look found; nullptr when the gap was
// not found by a look. REQUIRES: the reaction to `error` is kGap.
Gap MakeGap(const absl::Status& error, Lsn frontier,
            const std::optional<PublicationLook>& publication, const SourceFacts* facts);

// "0/16B3748 to 0/16B37A8", "0/16B3748 and later", "up to 0/16B37A8", "not known".
std::string RangeOf(const Gap& gap);

}  // namespace walrelay
