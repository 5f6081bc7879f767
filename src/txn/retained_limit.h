// The operator's limit on the log that the slot keeps (source.max_retained_wal), and what is to
// happen there (source.on_retained_limit).
//
// Pure functions.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"
#include "walrelay/replication_source.h"
#include "walrelay/slot_sample.h"

namespace walrelay {

// The limit that is configured, if one is.
std::optional<RetentionBudget> BudgetOf(const SourceConfig& source);

// Whether the slot is to be dropped now: the operator has asked for that, by name, and the slot
// keeps at least as much log as it may. Only one that is ours to drop: on a primary, and in
// nobody's use. `server` and `slot` must have been read just before; the log only grows, so that a
// slot that is read later than the server is at least as far past the limit as it seems.
bool MustDropSlot(const SourceConfig& source, const ServerFacts& server, const SlotFacts& slot);

// The error with which the relay ends when it has dropped `slot`. `oldest`: when the oldest event
// that is known not to be published was committed.
absl::Status SlotDropped(const SourceConfig& source, const ServerFacts& server,
                         const SlotFacts& slot, std::optional<WallTime> oldest);

}  // namespace walrelay
