// Schema and Datum: a value and its type as Kafka Connect has them.
//
// Debezium turns a column into one of these before a Connect converter turns it into bytes. The
// formats that stand in for those converters (converter.h) take the same step, so that names,
// versions, defaults and the order of members come out alike.
//
// A Schema is immutable and shared. A Datum holds views: into the row, into an arena, or into the
// schema whose default it is; it lives no longer than these.
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

struct Null {};
struct Bytes {
  std::string_view bytes;
};
// A decimal number as Postgres prints it: "-12.30". Its scale is that of the text.
struct Decimal {
  std::string_view text;
};
// The elements of an array, or the members of a struct in the order of its schema's fields.
using DatumList = std::vector<Datum>;

struct Datum {
  std::variant<Null, bool, int64_t, float, double, std::string_view, Bytes, Decimal, DatumList>
      value;

  bool is_null() const { return std::holds_alternative<Null>(value); }
};

enum class SchemaType : uint8_t {
  kInt16,
  kInt32,
  kInt64,
  kFloat32,
  kFloat64,
  kBoolean,
  kString,
  kBytes,
  kArray,
  kStruct
};

struct SchemaField {
  std::string name;
  SchemaPtr schema;
};

struct Schema {
  SchemaType type = SchemaType::kString;
  bool optional = false;
  std::string name;
  std::optional<int32_t> version;
  std::string doc;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::shared_ptr<const Datum> default_value;  // of a column with a default; never null inside
  SchemaPtr items;                             // of kArray
  std::vector<SchemaField> fields;             // of kStruct
};

// The value that a reader of the schema sees: the default in place of null.
inline const Datum& OrDefault(const Schema& schema, const Datum& datum) {
  return datum.is_null() && schema.default_value != nullptr ? *schema.default_value : datum;
}

}  // namespace walrelay
