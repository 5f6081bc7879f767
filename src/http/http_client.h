// HttpGet: sends a GET request to the relay on this host.
//
// Not a general HTTP client: no TLS, no redirects, no name resolution, a response of at most a few
// megabytes, and a deadline for the whole request. Blocks.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"

namespace walrelay {

// Any status, also an error of the relay.
// `body` is at most 8 MiB; it comes from whatever listens there, and must be escaped before it is
// printed.
struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};

// `listen`: in the format of http.listen. Errors: WR-5007 if no relay answers within `timeout`.
// WR-5002 if `listen` is not an address. `path` begins with "/" and is not escaped. A wildcard
// address means loopback. Callable from any thread; uses no proxy and no signals.
absl::StatusOr<HttpAnswer> HttpGet(std::string_view listen, std::string_view path, Micros timeout);

}  // namespace walrelay
