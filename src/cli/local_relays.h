// The processes on this host that a command may talk to, and the text that they answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "admin/control_socket.h"

namespace walrelay {

struct SourceConfig;

// The trusted processes whose sockets have this prefix. Names the others on standard error, with
// what to do if one of them is meant.
std::vector<ControlPeer> TrustedPeers(std::string_view prefix);

// At least one. Slot and DSN are used to find the names of their sockets; without a DSN, the relays
// of this slot in any database. Errors: WR-5007 if there is none.
absl::StatusOr<std::vector<ControlPeer>> FindLocalRelays(const SourceConfig& source);

// Prints to standard error that a command continues without this process.
void ReportSkipped(const ControlPeer& peer, const absl::Status& error);

// Escapes each line, because another user's process may have written the text: Printable(). The
// result ends with a line end unless it is empty.
std::string PrintableLines(std::string_view text, std::string_view indent = "");

}  // namespace walrelay
