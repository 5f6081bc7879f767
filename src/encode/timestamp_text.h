// Timestamps as Postgres prints them with DateStyle = ISO: "2026-11-20 08:14:02.000123+00".
#pragma once

#include <optional>
#include <string_view>

#include "walrelay/clock.h"

namespace walrelay {

// With or without a zone; without one it is UTC. nullopt for infinity, for years BC, for what is no
// timestamp and for what WallTime cannot hold.
std::optional<WallTime> ParseTimestamp(std::string_view text);

}  // namespace walrelay
