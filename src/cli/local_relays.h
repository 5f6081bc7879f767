// The relays of a slot on this host that a command may talk to.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "admin/control_socket.h"
#include "walrelay/config.h"

namespace walrelay {

// At least one. Slot and DSN are used to find the names of their sockets; without a DSN, the relays
// of this slot in any database. Errors: WR-5007 if there is none.
absl::StatusOr<std::vector<ControlPeer>> FindLocalRelays(const SourceConfig& source);

}  // namespace walrelay
