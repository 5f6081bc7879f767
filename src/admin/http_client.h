// HttpGet: asks the relay of this machine for one of its pages.
//
// Not a client for the web: one GET, no TLS, no redirect, no name looked up, an answer of a few
// megabytes at most, and all of it within a deadline. Blocks.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"

namespace walrelay {

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};

// `listen` as http.listen has it. Errors: WR-5007 when no relay answers there in time.
absl::StatusOr<HttpAnswer> HttpGet(std::string_view listen, std::string_view path, Micros timeout);

}  // namespace walrelay
