// The operator's limit for the WAL that the slot retains (source.max_retained_wal), and the action
// at that limit (source.on_retained_limit).
//
// Pure functions.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "slot/slot_sample.h"
#include "walrelay/clock.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct SourceConfig;

// The configured limit, if there is one; its bytes are positive.
std::optional<WalRetentionLimit> WalRetentionLimitOf(const SourceConfig& source);

// Whether the slot must be dropped now: the operator configured the drop, and the slot retains at
// least the limit. Only for a slot on a primary that no process uses. `server` and `slot` must have
// been read just before, `server` first; WAL only grows, so a slot that was read after the server
// is at least as far beyond the limit as computed.
bool MustDropSlot(const SourceConfig& source, const ServerInfo& server, const SlotInfo& slot);

// The error with which the relay reports that it dropped `slot`. `oldest`: commit time of the
// oldest event not known to be published.
absl::Status SlotDropped(const SourceConfig& source, const ServerInfo& server, const SlotInfo& slot,
                         std::optional<WallTime> oldest);

}  // namespace walrelay
