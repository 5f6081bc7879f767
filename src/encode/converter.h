// Converter: the last step, from a value to the bytes of a key, a value or a header.
//
// Each format is equivalent to a Connect converter:
//   kString      StringConverter
//   kJson        JsonConverter with schemas.enable=false
//   kJsonSchema  JsonConverter with schemas.enable=true
//   kBytes       ByteArrayConverter; with a delegate, Debezium's BinaryDataConverter
// kRaw is walrelay's own format and not handled here: the column's bytes, unchanged.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "encode/column_value.h"
#include "encode/schema.h"

namespace walrelay {

struct PartFormat;

// The result points into the datum or into `out`, which is overwritten; nullopt is a record without
// this part. A `schema` of nullptr is a value without one: its JSON depends on the kind of the
// value. Errors: WR-3007 for a value that the format does not support.
absl::StatusOr<OptionalBytes> Convert(const PartFormat& format, const Schema* schema,
                                      const Datum& datum, std::string& out);

}  // namespace walrelay
