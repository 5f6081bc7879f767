// Suggestions for misspelt names of options and values.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/option.h"
#include "config/option_value.h"

namespace walrelay {

// "; did you mean "slot"?" if one of `candidates` is near to `name`, else "".
std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates);

// The option that a misspelt "section.key", or a key without its section, most likely means;
// nullptr if none is near.
const Option* NearestOption(std::string_view name);

// Advice that follows a value that `option` does not accept: "; did you mean "64MiB"?", or the
// remedy for a value that other tools know; "" if nothing is near. Never quotes a secret.
std::string Correction(const Option& option, const RawValue& value);

}  // namespace walrelay
