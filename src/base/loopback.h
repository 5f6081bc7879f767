// Loopback addresses: connections within this machine need no TLS.
#pragma once

#include <string_view>

namespace walrelay {

// True for "localhost", 127.0.0.0/8 and ::1. Names are not resolved: every other name is false.
bool IsLoopback(std::string_view host);

}  // namespace walrelay
