// Evaluates a snapshot for one transaction. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "walrelay/visibility.h"

namespace walrelay {

// Whether the transaction had ended when the snapshot was taken. `xid` is the one in BEGIN: the low
// 32 bits of a top-level xid. The function chooses the 64-bit candidate that is nearest to xmax,
// which is correct while the two are less than 2^31 transactions apart: Postgres stops assigning
// xids before one that a slot still needs gets that old.
bool HasEnded(const XidSnapshot& snapshot, uint32_t xid);

// Parses the text form of pg_snapshot, "xmin:xmax:xid,xid". nullopt for any other text.
std::optional<XidSnapshot> ParseSnapshot(std::string_view text);

}  // namespace walrelay
