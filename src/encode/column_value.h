// Converts a column's value, as sent by Postgres, to the bytes of a record.
//
// Values are passed on unchanged: text, json and jsonb in Postgres' text form; bytea as the raw
// bytes. A tuple in binary form (source.binary) yields the same bytes for the supported types, and
// an error for the others.
//
// The session must run with bytea_output = hex, DateStyle = ISO and TimeZone = UTC; the source sets
// them. Results point into the value or into the arena. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/arena.h"
#include "pgoutput/message.h"
#include "walrelay/clock.h"

namespace walrelay {

using OptionalBytes = std::optional<std::string_view>;

// nullopt: NULL. Errors: WR-3007 for a value that is invalid for its type, WR-3002 for a type that
// is not supported in binary form.
// WR-2401 for an unchanged TOAST value, which the decoder permits only in the new row of an UPDATE.
// An empty value is not NULL.
absl::StatusOr<OptionalBytes> ColumnBytes(const pgoutput::TupleValue& value, uint32_t type_oid,
                                          Arena& arena);

// A partition: int2, int4 or int8, not negative. Errors: WR-3002 for another type, WR-3007 for a
// value out of range.
absl::StatusOr<std::optional<int32_t>> ColumnPartition(const pgoutput::TupleValue& value,
                                                       uint32_t type_oid);

// A record timestamp: timestamptz, timestamp (interpreted as UTC) or int8 (milliseconds since
// 1970). Errors: WR-3002 for another type, WR-3007 for infinity and for times before 1970 or beyond
// int64.
absl::StatusOr<std::optional<WallTime>> ColumnTimestamp(const pgoutput::TupleValue& value,
                                                        uint32_t type_oid);

// By OID: a domain has the OID of its base type (RelationCache).
bool IsPartitionType(uint32_t type_oid);
bool IsTimestampType(uint32_t type_oid);

}  // namespace walrelay
