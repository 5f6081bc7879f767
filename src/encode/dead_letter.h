// The value of a record in the dead-letter topic: the whole row, why it could not be published, and
// its position in the WAL. Contract: proto/walrelay/events/v1/dead_letter.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "pgoutput/message.h"
#include "pgoutput/relation_cache.h"
#include "walrelay/clock.h"
#include "walrelay/position.h"

namespace walrelay {

// Where the row is in the WAL, so that an operator can find it again.
struct DeadLetterPosition {
  Position row;
  uint64_t ordinal = 0;  // of the row in its transaction, all tables counted, from 1
  uint32_t xid = 0;
  WallTime commit_time;
};

// A row of more than `max_row_bytes` is truncated: each value to an equal share of them.
// REQUIRES: !reason.ok(). Protobuf, because values may be any bytes. Values beyond the relation's
// columns are omitted; a truncated value carries its full size (`cut_from`).
std::string EncodeDeadLetter(const absl::Status& reason, const pgoutput::CachedRelation& relation,
                             pgoutput::Tuple row, const DeadLetterPosition& position,
                             size_t max_row_bytes);

}  // namespace walrelay
