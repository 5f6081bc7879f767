// Gap: events that may be missing, and what is known about them.
//
// An operator accepts a gap by its id. The id encodes the kind of gap and the findings, so that the
// acceptance of one gap never covers another.
//
// Pure functions.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "walrelay/lsn.h"
#include "walrelay/progress.h"
#include "walrelay/publication_identity.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct Gap {
  absl::Status error;  // reaction kGap
  std::string id;      // "2106-5f3a9c01": unchanged while the findings are the same
  // Events between these positions may be missing; 0/0: unknown. The positions are those of
  // commits; for WR-2110 those of the rows, whose transactions may have committed later. For
  // WR-2202, Kafka may have events of that range which the database does not have.
  Lsn from;
  Lsn to;
};

// `frontier`: everything before it was acknowledged; 0/0 when nothing was read yet. `publication`:
// the last reading without a problem. `info`: the reading that revealed the gap; nullptr when no
// reading did. REQUIRES: the reaction to `error` is kGap.
Gap MakeGap(const absl::Status& error, Lsn frontier,
            const std::optional<PublicationState>& publication, const SourceInfo* info);

// Whether the rows that a record proves to be published remain proven: the gap concerns the slot
// only. After others the server may have lost rows and assign their xids again, the stream may have
// lacked rows, or the record cannot be trusted.
bool KeepsProof(const absl::Status& gap);

// The gap as a progress record has it, and back. The error of a record has the remedy of its code.
HeldGap RecordOf(const Gap& gap);
Gap GapOf(const HeldGap& held);

// "0/16B3748 to 0/16B37A8", "0/16B3748 and later", "up to 0/16B37A8", "not known".
std::string RangeOf(const Gap& gap);

}  // namespace walrelay
