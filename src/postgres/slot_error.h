// Why the server refused a command that names a slot.
//
// SQLSTATEs 55000 and 42704 say many things, and the words beside them may be translated. So the
// slot and the server's settings are looked at instead.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "postgres/connection.h"
#include "walrelay/clock.h"

namespace walrelay {

// `error` is what the last Query() of `connection` returned. The result is WR-2101 (SlotMissing),
// WR-2103 (SlotLost) or WR-2008 (WalLevel) where that is what the server shows now, else `error`.
// Looks by queries: a walsender must not stream afterwards (decision 0007).
absl::Status WithCauseAtSlot(PgConnection& connection, std::string_view slot,
                             const absl::Status& error, Micros timeout);

}  // namespace walrelay
