// Expansion of a JSON payload: from text to a value with members and an inferred schema.
//
// Types are inferred as Debezium's EventRouter does with table.expand.json.payload: text, boolean,
// int32 or int64 by size, float64 for everything with a fraction or an exponent; a struct's name is
// its path. Elements of an array must be of one type; objects in an array are merged one level
// deep, in the order of the document (Debezium: in that of their hashes).
//
// Source: io.debezium.transforms.outbox.JsonSchemaData.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "encode/json_document.h"
#include "encode/row_limits.h"
#include "encode/schema.h"
#include "walrelay/config.h"

namespace walrelay {

struct Expansion {
  enum class Kind : uint8_t {
    kUnchanged,   // no schema can be inferred: the text stays, with the column's schema
    kExpanded,    // schema and datum
    kSchemaless,  // the empty array: the text stays, without a schema
    kMismatch,    // a schema, but not one that holds the value: the text stays, under this schema
  };

  Kind kind = Kind::kUnchanged;
  SchemaPtr schema;
  Datum datum;
};

// What `root` may be: a document, of which Debezium makes a struct whatever it is, or a member of
// one that was taken apart before.
enum class RootOf : uint8_t { kDocument, kMember };

// `name` is that of the payload's column. Errors: WR-3006 beyond the limits, which a small document
// can exceed: nested structs repeat names, and each element of an array has all members of all its
// elements. WR-3007 where Debezium would leave members out that are there. The result points into
// the tree.
absl::StatusOr<Expansion> Expand(std::string_view name, const JsonValue& root,
                                 const FormatConfig& format, const RowLimits& limits,
                                 RootOf root_of = RootOf::kDocument);

}  // namespace walrelay
