// The error catalogue as text: docs/errors.md, and `walrelay explain`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "walrelay/error.h"

namespace walrelay {

// The whole catalogue in Markdown. A test compares docs/errors.md with it.
// Pure: its text depends only on error_codes.def.
std::string ErrorReference();

// Accepts "WR-2101", "wr-2101" or "2101". nullopt for an unknown code.
std::optional<ErrorCode> FindErrorCode(std::string_view text);

// The relay's reaction to an error, in one sentence.
// Without a full stop, starting with a lower-case letter. A literal.
std::string_view DescribeReaction(Reaction reaction);

}  // namespace walrelay
