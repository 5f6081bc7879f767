// Base64 as tokens use it.
//
// Source: RFC 4648, sections 4 and 5.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace walrelay {

std::string Base64(std::string_view bytes);
// With "-" and "_", without padding.
std::string Base64Url(std::string_view bytes);
// nullopt for anything but Base64Url() of some bytes; padding is accepted.
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace walrelay
