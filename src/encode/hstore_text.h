// An hstore as printed by Postgres: "a"=>"1", "b c"=>NULL.
//
// Source: Postgres, contrib/hstore/hstore_io.c, hstore_out; org.postgresql.util.HStoreConverter,
// which fills a java.util.HashMap.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/arena.h"

namespace walrelay {

using HstorePair = std::pair<std::string_view, std::optional<std::string_view>>;

// The pairs in the order in which a java.util.HashMap returns them. nullopt: not an hstore, or one
// with so many keys of equal hashes that the map would sort them in a tree. Results point into the
// text and into the arena. Time and memory are linear in the text.
std::optional<std::vector<HstorePair>> ParseHstore(std::string_view text, Arena& arena);

}  // namespace walrelay
