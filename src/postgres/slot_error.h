// Determines why the server rejected a command that names a slot.
//
// SQLSTATEs 55000 and 42704 have many causes, and the message may be translated. The slot and the
// server's settings are therefore read instead.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "postgres/connection.h"
#include "walrelay/clock.h"

namespace walrelay {

// `error` is what the last Query() of `connection` returned. The result is WR-2101 (SlotMissing),
// WR-2103 (SlotLost) or WR-2008 (WalLevel) if the server now shows that cause, else `error`. Runs
// queries, so a walsender must not stream afterwards (decision 0007).
absl::Status WithCauseAtSlot(PgConnection& connection, std::string_view slot,
                             const absl::Status& error, Micros timeout);

}  // namespace walrelay
