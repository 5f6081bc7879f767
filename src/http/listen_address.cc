#include "http/listen_address.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstdint>
#include <string>

namespace walrelay {
namespace {

std::optional<uint16_t> ParsePort(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(port) : std::nullopt;
}

}  // namespace

// Addresses only: the resolution of a name could block the start of the process, and could choose
// an address that was not meant.
std::optional<ListenAddress> ListenAddress::Parse(std::string_view listen) {
  const size_t colon = listen.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const auto port = ParsePort(listen.substr(colon + 1));
  std::string host(listen.substr(0, colon));
  if (!port) {
    return std::nullopt;
  }
  ListenAddress address;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage_);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(*port);
    return inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1 ? std::optional(address)
                                                                  : std::nullopt;
  }
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage_);
  v4->sin_family = AF_INET;
  v4->sin_port = htons(*port);
  if (host.empty()) {
    host = "0.0.0.0";
    // The only name that is accepted, because its meaning is fixed.
  } else if (host == "localhost") {
    host = "127.0.0.1";
  }
  return inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1 ? std::optional(address)
                                                              : std::nullopt;
}

// A client cannot connect to the wildcard address on every system.
ListenAddress ListenAddress::ForClients() const {
  ListenAddress address = *this;
  if (is_v6()) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage_);
    v6->sin6_addr = IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr) ? in6addr_loopback : v6->sin6_addr;
  } else {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage_);
    v4->sin_addr.s_addr =
        v4->sin_addr.s_addr == INADDR_ANY ? htonl(INADDR_LOOPBACK) : v4->sin_addr.s_addr;
  }
  return address;
}

}  // namespace walrelay
