// Schema and Datum: a type and a value in Kafka Connect's data model.
//
// Debezium converts a column to this model before a Connect converter encodes it. The formats that
// replace those converters (converter.h) use the same intermediate step, so that names, versions,
// defaults and the order of members are identical.
//
// A Schema is immutable and shared. A Datum holds views: into the row, into an arena, or into the
// schema whose default it is; it must not outlive them.
//
// Source: org.apache.kafka.connect.data.Schema; io.debezium.connector.postgresql's value converter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace walrelay {

struct Datum;
struct Schema;
using SchemaPtr = std::shared_ptr<const Schema>;

// The kinds of values that std::variant cannot distinguish by their C++ types.
struct Null {};
struct Bytes {
  std::string_view bytes;
};
// A decimal number as printed by Postgres: "-12.30". Its scale is the scale of the text.
struct Decimal {
  std::string_view text;
};
// The elements of an array, the members of a struct in the order of its schema's fields, or the
// keys and values of a map in turn.
using DatumList = std::vector<Datum>;

// A value. Moving a list moves its elements; copying it copies them.
struct Datum {
  std::variant<Null, bool, int64_t, float, double, std::string_view, Bytes, Decimal, DatumList>
      value;

  bool is_null() const { return std::holds_alternative<Null>(value); }
};

// Connect's types, as far as Postgres' types and JSON need them.
enum class SchemaType : uint8_t {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat32,
  kFloat64,
  kBoolean,
  kString,
  kBytes,
  kArray,
  kMap,
  kStruct
};

// A member of a struct.
struct SchemaField {
  std::string name;
  SchemaPtr schema;
};

// As ConnectSchema: the attributes that JsonConverter writes, in its order.
struct Schema {
  SchemaType type = SchemaType::kString;
  bool optional = false;
  std::string name;
  std::optional<int32_t> version;
  std::string doc;
  std::vector<std::pair<std::string, std::string>> parameters;
  // The column's default; nullptr: it has none. The pointed-to value is not null.
  std::shared_ptr<const Datum> default_value;
  SchemaPtr keys;                   // of kMap
  SchemaPtr items;                  // of kArray; of kMap: the values
  std::vector<SchemaField> fields;  // of kStruct
};

// A logical type of Debezium or Connect: they have version 1.
inline Schema NamedSchema(SchemaType type, std::string name) {
  return {.type = type, .name = std::move(name), .version = 1};
}

// The value that a reader of the schema sees: null is replaced by the default.
inline const Datum& OrDefault(const Schema& schema, const Datum& datum) {
  return datum.is_null() && schema.default_value != nullptr ? *schema.default_value : datum;
}

}  // namespace walrelay
