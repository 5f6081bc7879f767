// ListenAddress: the "address:port" of http.listen as a socket address.
//
// A value type; pure.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string_view>

namespace walrelay {

class ListenAddress {
 public:
  // "address:port", "[v6]:port", "localhost:port", or ":port" for every address; nullopt for
  // anything else. No names are resolved.
  // The port is 0 to 65535. An IPv6 address needs its brackets.
  static std::optional<ListenAddress> Parse(std::string_view listen);

  // The address for clients on this host: loopback if it is the wildcard address.
  ListenAddress ForClients() const;

  bool is_v6() const { return storage_.ss_family == AF_INET6; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return is_v6() ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }

 private:
  // An address of either family.
  sockaddr_storage storage_{};
};

}  // namespace walrelay
