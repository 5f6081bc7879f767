#include "http/http_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>

#include "base/http_call.h"
#include "base/text.h"
#include "http/listen_address.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The status report of an hour is far smaller; a limit protects this process from another server on
// the port.
constexpr size_t kMaxBytes = 8 << 20;

// From the parsed address and not from the text: the URL then contains nothing that libcurl could
// interpret.
std::string UrlOf(const ListenAddress& address, std::string_view path) {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (address.is_v6()) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address.get());
    inet_ntop(AF_INET6, &v6->sin6_addr, host.data(), host.size());
    return fmt::format("http://[{}]:{}{}", host.data(), ntohs(v6->sin6_port), path);
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(address.get());
  inet_ntop(AF_INET, &v4->sin_addr, host.data(), host.size());
  return fmt::format("http://{}:{}{}", host.data(), ntohs(v4->sin_port), path);
}

}  // namespace

absl::StatusOr<HttpAnswer> HttpGet(std::string_view listen, std::string_view path, Micros timeout) {
  const auto address = ListenAddress::Parse(listen);
  if (!address) {
    return Error(ErrorCode::kHttpListen,
                 fmt::format("\"{}\" is not address:port", Printable(listen, 80)));
  }
  // A relay on this host is not behind a proxy.
  const auto reply = CallHttp({.url = UrlOf(address->ForClients(), path),
                               .use_proxy = false,
                               .timeout = timeout,
                               .max_bytes = kMaxBytes});
  if (!reply.ok()) {
    return Error(ErrorCode::kRelaySilent,
                 fmt::format("{}: {}", Printable(listen, 80), MessageOf(reply.status())));
  }
  return HttpAnswer{.status = reply->status, .body = reply->body.Reveal()};
}

}  // namespace walrelay
