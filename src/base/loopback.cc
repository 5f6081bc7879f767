#include "base/loopback.h"

#include <arpa/inet.h>

#include <string>

namespace walrelay {

// No resolution, also not of "localhost" in /etc/hosts: what counts is what the operator wrote.
bool IsLoopback(std::string_view host) {
  const std::string text(host);
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    // All of 127.0.0.0/8.
    return (ntohl(v4.s_addr) >> IN_CLASSA_NSHIFT) == IN_LOOPBACKNET;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&v6);
  }
  return host == "localhost";
}

}  // namespace walrelay
