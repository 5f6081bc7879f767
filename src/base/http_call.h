// CallHttp: one HTTP request over libcurl, with a deadline for the whole of it.
//
// No redirects, no cookies, no signals; names are resolved by libcurl's own threads. Blocks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/loopback.h"
#include "walrelay/clock.h"
#include "walrelay/secret.h"

namespace walrelay {

// The parts of a URL that decide whether a secret may be sent there, as libcurl itself parses it.
struct HttpUrl {
  bool tls = false;
  std::string host;  // an IPv6 address without brackets

  // Nothing that is sent can be read on a network.
  bool IsPrivate() const { return tls || IsLoopback(host); }
};

// nullopt for another scheme than http and https, for a URL that libcurl rejects, and for one with
// a user or a password: "http://127.0.0.1@example.com/" only looks like this host.
std::optional<HttpUrl> ParseHttpUrl(const std::string& url);

// Headers and body may contain secrets. REQUIRES: a header has no line end.
struct HttpCall {
  std::string method = "GET";
  std::string url;              // see ParseHttpUrl(); the server's certificate is verified
  bool clear_text = false;      // http:// is allowed for another host, too
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
