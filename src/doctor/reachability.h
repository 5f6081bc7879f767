// Whether something listens at an address.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "walrelay/clock.h"

namespace walrelay {

// Connects to "host:port" ("[::1]:9092" too) and hangs up. kUnavailable, with the reason, when that
// does not succeed in time. (Looking up a name blocks for as long as the resolver does.)
absl::Status Reach(const std::string& address, Micros timeout);

}  // namespace walrelay
