// ListenAddress: "address:port" as http.listen has it, as the sockets want it.
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
  // anything else. No name is looked up.
  static std::optional<ListenAddress> Parse(std::string_view listen);

  // Where a client of this machine reaches it: loopback when it stands for every address.
  ListenAddress ForClients() const;

  bool is_v6() const { return storage_.ss_family == AF_INET6; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return is_v6() ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }

 private:
  sockaddr_storage storage_{};
};

}  // namespace walrelay
