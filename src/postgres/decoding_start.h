// The slot's position, as the server logs it when a walsender begins to decode.
//
// Between reading the slot and START_REPLICATION another session may move the slot, or drop and
// recreate it. The replication protocol does not tell where the stream begins. The server's log
// line does, and a session with client_min_messages = log receives it.
//
// Source: CreateDecodingContext() in src/backend/replication/logical/logical.c, Postgres 13 to 18.
// Pure function.
#pragma once

#include <optional>
#include <string_view>

#include "walrelay/lsn.h"

namespace walrelay {

// The confirmed position in "Streaming transactions committing after X/X, reading WAL from X/X.",
// the detail of a message of the server function `function`. The text may be translated, with the
// positions in another order: the position where reading begins is never the greater one. nullopt
// for any other message.
std::optional<Lsn> ConfirmedAtDecodingStart(std::string_view function, std::string_view detail);

}  // namespace walrelay
