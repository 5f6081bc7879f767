// The catalogue of errors for people: docs/errors.md, and `walrelay explain`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "walrelay/error.h"

namespace walrelay {

// All of it in Markdown. A test holds docs/errors.md against it.
std::string ErrorReference();

// "WR-2101", "wr-2101" or "2101". nullopt for a code that does not exist.
std::optional<ErrorCode> FindErrorCode(std::string_view text);

// What the relay does about it, in a sentence.
std::string_view DescribeReaction(Reaction reaction);

}  // namespace walrelay
