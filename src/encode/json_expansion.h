// Expands a JSON payload: from text to a value with members and an inferred schema.
//
// Types are inferred as by Debezium's EventRouter with table.expand.json.payload: text, boolean,
// int32 or int64 by size, float64 for every number with a fraction or an exponent; a struct's name
// is its path. The elements of an array must be of one type; objects in an array are merged one
// level deep, in document order (in Debezium: in hash order).
//
// Source: io.debezium.transforms.outbox.JsonSchemaData.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "encode/json_document.h"
#include "encode/row_limits.h"
#include "encode/schema.h"

namespace walrelay {

struct FormatConfig;

// The result of expanding a document.
struct Expansion {
  enum class Kind : uint8_t {
    kUnchanged,   // no schema can be inferred: the text is kept, with the column's schema
    kExpanded,    // schema and datum
    kSchemaless,  // the empty array: the text is kept, without a schema
    kMismatch,    // a schema that does not fit the value: the text is kept, under this schema
  };

  Kind kind = Kind::kUnchanged;
  SchemaPtr schema;
  Datum datum;
};

// The role of `root`: a document, for which Debezium always builds a struct, or a member of a
// message that was already split into members.
enum class RootOf : uint8_t { kDocument, kMember };

// `name` is the name of the payload's column. Errors: WR-3006 beyond the limits, which a small
// document can exceed: nested structs repeat names, and each element of an array has all members of
// all its elements. WR-3007 where Debezium would omit existing members. The result points into the
// tree.
absl::StatusOr<Expansion> Expand(std::string_view name, const JsonValue& root,
                                 const FormatConfig& format, const RowLimits& limits,
                                 RootOf root_of = RootOf::kDocument);

}  // namespace walrelay
