// Converter: the last step, from a value to the bytes of a key, a value or a header.
//
// Each format gives what the Connect converter of its kind gives:
//   kString      StringConverter
//   kJson        JsonConverter with schemas.enable=false
//   kJsonSchema  JsonConverter with schemas.enable=true
//   kBytes       ByteArrayConverter; with a delegate, Debezium's BinaryDataConverter
// kRaw is walrelay's own and not made here: the column's bytes as they stand.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "encode/column_value.h"
#include "encode/schema.h"
#include "walrelay/config.h"

namespace walrelay {

// The result points into the datum or into `out`, which is overwritten; nullopt is a record without
// this part. A `schema` of nullptr is a value without one: JSON of it is that of its kind. Errors:
// WR-3007 for a value that the format has no bytes for.
absl::StatusOr<OptionalBytes> Convert(const PartFormat& format, const Schema* schema,
                                      const Datum& datum, std::string& out);

}  // namespace walrelay
