// FirstXidAfter: from a position in the WAL to xids, which rows of a table have.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "walrelay/lsn.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// Every transaction that commits at `lsn` or later on this server has this xid or a greater one; so
// do some that committed before. nullopt: the record has no horizon that old, or is not of this
// server's history.
std::optional<uint64_t> FirstXidAfter(const Progress& record, const ServerInfo& server, Lsn lsn);

}  // namespace walrelay
