// Connections to addresses, for those who only want to know who answers there.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "walrelay/clock.h"

namespace walrelay {

// Connects to "host:port" ("[::1]:9092" too); the socket does not block. kUnavailable, with the
// reason, when that does not succeed in time. (Looking up a name blocks for as long as the resolver
// does.)
absl::StatusOr<UniqueFd> Reach(const std::string& address, Micros timeout);

}  // namespace walrelay
