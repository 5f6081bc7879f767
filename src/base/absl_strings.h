// Conversion of std::string_view to absl::string_view.
//
// Debian's Abseil is built with a separate string_view type; upstream's is an alias of std's. This
// function compiles either way and costs nothing. walrelay's interfaces use only std's type.
#pragma once

#include <string_view>

#include "absl/strings/string_view.h"

namespace walrelay {

// A view of the same bytes: it must not outlive them.
inline absl::string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace walrelay
