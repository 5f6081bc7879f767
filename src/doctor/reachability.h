// TCP connections that only test whether an address is reachable.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "walrelay/clock.h"

namespace walrelay {

// Connects to "host:port" or "[::1]:9092"; the socket is non-blocking. kUnavailable, with the
// reason, on failure or after `timeout`. (Name resolution blocks for as long as the resolver does.)
absl::StatusOr<UniqueFd> Reach(const std::string& address, Micros timeout);

}  // namespace walrelay
