// The state of a replication slot in sentences, for an operator.
//
// Pure. They may contain text of the server; the formats escape it.
#pragma once

#include <string>
#include <vector>

#include "slot/slot_copy.h"
#include "slot/slot_sample.h"

namespace walrelay {

// Sentences about the WAL that the slot retains, the limit, and when the limit is reached.
// At least one sentence, also for a slot that does not exist.
std::vector<std::string> SlotWords(const SlotSample& slot);

// How long WAL has been unconfirmed, or that this is unknown.
std::string LagAgeWords(const SlotSample& slot);

// Says what was lost with an invalidated slot, and the server's reason if it is known.
std::string LossWords(const SlotSample& slot);

// Whether the events would survive a failover to a standby, and what is wrong otherwise.
std::string SlotCopyWords(const SlotCopy& copy);

}  // namespace walrelay
