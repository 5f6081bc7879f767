// TCP connections that only test whether an address is reachable.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "walrelay/clock.h"

namespace walrelay {

// Connects to "host:port" or "[::1]:9092"; the socket is non-blocking. kUnavailable, with the
// reason, on failure or after `timeout`. (Name resolution blocks for as long as the resolver does.)
// A name with several addresses is tried address by address, each for at most `timeout`; the first
// that accepts is used. The caller owns the socket. The port must be a number or a service name; an
// address without a port is kUnavailable too.
absl::StatusOr<UniqueFd> Reach(const std::string& address, Micros timeout);

}  // namespace walrelay
