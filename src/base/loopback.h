// Which addresses are this machine's own: what does not leave it needs no TLS.
#pragma once

#include <string_view>

namespace walrelay {

// "localhost", 127.0.0.0/8 and ::1. No other name is, whatever it begins with: none is looked up.
bool IsLoopback(std::string_view host);

}  // namespace walrelay
