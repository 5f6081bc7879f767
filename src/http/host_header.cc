#include "http/host_header.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"

namespace walrelay {
namespace {

// Removes the port and the trailing dot, and converts to lower case.
// "[::1]:9464" has colons in the address as well: only one after the bracket begins the port.
std::string NameOf(std::string_view host_header) {
  std::string name(host_header);
  absl::AsciiStrToLower(&name);
  const size_t colon = name.rfind(':');
  if (colon != std::string::npos && !name.ends_with(']')) {
    name.resize(colon);
  }
  if (name.ends_with('.')) {
    name.pop_back();
  }
  return name;
}

bool IsAddress(const std::string& name) {
  in_addr v4{};
  in6_addr v6{};
  const bool bracketed = name.starts_with('[') && name.ends_with(']');
  return bracketed ? ::inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &v6) == 1
                   : ::inet_pton(AF_INET, name.c_str(), &v4) == 1;
}

}  // namespace

bool NamesThisMachine(std::string_view host_header, std::string_view own_name) {
  // HTTP/1.0 has no Host header, and a browser always sends one.
  if (host_header.empty()) {
    return true;
  }
  const std::string name = NameOf(host_header);
  if (name.empty()) {
    return false;
  }
  // Against DNS rebinding: a page of another site can make a browser send requests here only under
  // a name of that site. Addresses and names without a dot are not such names. Names below
  // .internal and .local can be: the networks of clouds and offices let their users choose them.
  // Names of Services are of the cluster's own network, which no browser uses.
  return IsAddress(name) || name.find_first_of(".:[]") == std::string::npos ||
         name.ends_with(".localhost") || name.ends_with(".svc.cluster.local") ||
         name == "host.docker.internal" || name == NameOf(own_name);
}

}  // namespace walrelay
