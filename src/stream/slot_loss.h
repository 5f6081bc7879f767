// The error of a slot that the server has invalidated, by the server's reason.
//
// Pure.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "walrelay/slot_info.h"

namespace walrelay {

// WR-2103 with `text`. The remedy is about the setting that has invalidated the slot: not each loss
// is one of max_slot_wal_keep_size.
absl::Status SlotLostError(const SlotInfo& slot, std::string_view text);

}  // namespace walrelay
