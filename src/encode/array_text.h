// An array of one dimension as Postgres prints it: {a,"b \"c\"",NULL}.
//
// Pure function. Source: Postgres, src/backend/utils/adt/arrayfuncs.c, array_out.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/arena.h"

namespace walrelay {

// The elements' texts, nullopt for a NULL element. A nullopt result: not an array, or an array of
// several dimensions. Results point into the text and into the arena.
// "{}" is an array without elements. Bounds ("[2:3]={a,b}") are accepted and ignored.
std::optional<std::vector<std::optional<std::string_view>>> ParseArray(std::string_view text,
                                                                       Arena& arena);

}  // namespace walrelay
