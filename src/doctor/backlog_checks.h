// Checks of the rows that wait in the slot: whether they can be published with the mapping of
// today.
//
// The WAL has each row with the columns that its table had then: the catalog does not show them.
#pragma once

#include <vector>

#include "findings/findings.h"
#include "walrelay/config.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// Reads the versions of the tables that the oldest rows of the backlog have, by a temporary slot
// (postgres/temporary_slot.h), for at most a few seconds. The slot itself is only read, and may be
// in use. A failure to read is a warning. Finds nothing without a backlog.
void CheckBacklog(const Config& config, const SourceInfo& info, Findings& out);

}  // namespace walrelay
