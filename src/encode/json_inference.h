// JsonInference: the schema of a JSON document, as inferred by Debezium's EventRouter.
//
// Every value has its own type, all are optional, and a struct is named by its path: nested structs
// repeat the names of the enclosing ones, so a schema may be far larger than its document. The size
// of its names is therefore limited, and so is the work. Not thread-safe.
//
// Source: io.debezium.transforms.outbox.JsonSchemaData.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "encode/json_document.h"
#include "encode/schema.h"

namespace walrelay {

struct FormatConfig;

class JsonInference {
 public:
  // `format` must outlive this object. `most_bytes`: limit for the names in the schema.
  JsonInference(const FormatConfig& format, size_t most_bytes);

  // nullptr: a value that has no schema and is omitted; or, with failed(), a document without a
  // schema. `path` names structs; nullptr if they are unnamed.
  SchemaPtr Of(const std::string* path, const JsonValue& value);

  bool failed() const { return failed_; }
  // It failed because the schema would be too large.
  bool too_large() const { return too_large_; }

  // Whether Of() would return a schema for the value.
  bool IsShown(const JsonValue& value) const;

 private:
  // Sets failed(); returns nullptr for the caller to return.
  SchemaPtr Fail();
  // Counts towards most_bytes; false: the limit is exceeded.
  bool Charge(size_t bytes);
  bool ChargeShape(size_t bytes);
  SchemaPtr OfNumber(const JsonValue& value) const;
  SchemaPtr OfObject(const std::string* path, const JsonValue& value);
  SchemaPtr OfArray(const std::string* path, const JsonValue& value);
  SchemaPtr OfElements(const std::string* path, const JsonValue& array);
  SchemaPtr OfObjects(const std::string* path, const JsonValue& array);
  // The element whose type is the type of all.
  const JsonValue* Sample(const JsonValue& array);

  const FormatConfig& format_;
  const size_t most_bytes_;
  size_t charged_ = 0;  // bytes of the names, and of the texts that distinguish shapes
  size_t written_ = 0;  // bytes of all such texts, including discarded ones
  bool failed_ = false;
  bool too_large_ = false;
  // One schema per type, shared by all values.
  const SchemaPtr text_;
  const SchemaPtr boolean_;
  const SchemaPtr int32_;
  const SchemaPtr int64_;
  const SchemaPtr float64_;
  const SchemaPtr bytes_;
};

// int32, int64 or float64, depending on the number's notation and size.
SchemaType NumberType(std::string_view text);

// nullopt: not written as an integer, or more than 64 bits.
std::optional<int64_t> IntegerOf(std::string_view text);

}  // namespace walrelay
