// HostHeader: whether the Host of a request names this host rather than an Internet site.
//
// A page of a foreign site can make its visitor's browser send requests to this listener under the
// site's name, if that name resolves to this host (DNS rebinding), and read the response. The Host
// of such a request is the site's name.
#pragma once

#include <string_view>

namespace walrelay {

// True for an IP address, a single-label name (localhost, a Compose service), a name below
// .localhost or .svc.cluster.local, host.docker.internal, `own_name`, and an empty Host, which
// browsers do not send. `host_header` may have a port and a trailing dot; case does not matter.
// `own_name`: this host's name. Pure.
bool NamesThisMachine(std::string_view host_header, std::string_view own_name);

}  // namespace walrelay
