// HostHeader: whether a request's Host names this machine rather than a site of the Internet.
//
// A page of a foreign site can make its visitor's browser ask this listener, under the site's own
// name, once that name is made to resolve to this machine (DNS rebinding), and read the answer.
// Such a request carries the site's name in its Host.
#pragma once

#include <string_view>

namespace walrelay {

// True for an address, a name of one label (localhost, a Compose service), a name below a domain
// that cannot be registered (.localhost, .local as in svc.cluster.local, .internal), `own_name`,
// and no name at all, which no browser sends.
bool NamesThisMachine(std::string_view host_header, std::string_view own_name);

}  // namespace walrelay
