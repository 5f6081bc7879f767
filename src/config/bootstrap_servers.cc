#include "config/bootstrap_servers.h"

#include <algorithm>

namespace walrelay {

std::vector<std::string> BootstrapAddresses(std::string_view servers) {
  std::vector<std::string> addresses;
  while (!servers.empty()) {
    std::string_view server = servers.substr(0, servers.find(','));
    servers.remove_prefix(std::min(server.size() + 1, servers.size()));
    server.remove_prefix(std::min(server.find_first_not_of(' '), server.size()));
    server = server.substr(0, server.find_last_not_of(' ') + 1);
    if (const size_t scheme = server.find("://"); scheme != std::string_view::npos) {
      server.remove_prefix(scheme + 3);
    }
    // The last colon: an IPv6 address contains others, and without a port it ends with a bracket.
    const size_t colon = server.rfind(':');
    const bool has_port = colon != std::string_view::npos && !server.ends_with(']');
    if (!server.empty()) {
      addresses.push_back(std::string(server) + (has_port ? "" : ":9092"));
    }
  }
  return addresses;
}

}  // namespace walrelay
