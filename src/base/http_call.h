// CallHttp: one HTTP request over libcurl, with a deadline for the whole of it.
//
// No redirects, no cookies, no signals; names are resolved by libcurl's own threads. Blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/secret.h"

namespace walrelay {

// Headers and body may contain secrets. REQUIRES: a header has no line end.
struct HttpCall {
  std::string method = "GET";
  std::string url;              // http:// or https://; the server's certificate is verified
  std::vector<Secret> headers;  // "Name: value"
  Secret body;                  // of POST and PUT
  std::string ca_file;          // PEM; "": the system's authorities
  bool use_proxy = true;        // of the variables https_proxy, no_proxy …
  Micros timeout = std::chrono::seconds(30);
  size_t max_bytes = 64 * 1024;  // of the response's body
  int interrupt_fd = -1;         // ends the call when it becomes readable; not read
};

// Any status, also an error of the server. The body comes from the server: escape it before it is
// printed.
struct HttpReply {
  unsigned status = 0;
  Secret body;
};

// Errors: kUnavailable without a walrelay code, whose message is the reason without the URL;
// kCancelled. Callable from any thread.
absl::StatusOr<HttpReply> CallHttp(const HttpCall& call);

// Percent-encodes everything except RFC 3986's unreserved characters: letters, digits, "-._~".
std::string UriEncode(std::string_view text);

}  // namespace walrelay
