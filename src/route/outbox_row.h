// OutboxRow: a row of an outbox table that was not read from the stream.
#pragma once

#include <cstdint>
#include <optional>

#include "pgoutput/message.h"
#include "pgoutput/relation_cache.h"
#include "walrelay/clock.h"

namespace walrelay {

// Views that are valid until the next call of the reader that returned the row.
struct OutboxRow {
  const pgoutput::CachedRelation& relation;  // valid as long as the reader
  pgoutput::Tuple values;
  uint64_t xid = 0;  // of the transaction that wrote this version of the row, with its epoch
  std::optional<WallTime> commit_time;  // nullopt: the server did not record it
};

}  // namespace walrelay
