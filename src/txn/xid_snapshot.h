// What a snapshot says about one transaction. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "walrelay/visibility.h"

namespace walrelay {

// Whether the transaction had ended when the snapshot was taken. `xid` is what BEGIN carries: the
// low 32 bits of a top-level xid. It is the one of its 64-bit candidates that is nearest to xmax,
// which is right while the two are less than 2^31 transactions apart: Postgres itself stops
// assigning xids before any that a slot still needs is that old.
bool HasEnded(const XidSnapshot& snapshot, uint32_t xid);

// The text form of pg_snapshot, "xmin:xmax:xid,xid". nullopt for anything else.
std::optional<XidSnapshot> ParseSnapshot(std::string_view text);

}  // namespace walrelay
