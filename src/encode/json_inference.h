// JsonInference: the schema of a JSON document, as Debezium's EventRouter infers it.
//
// Every value has a type of its own, all are optional, a struct is named by its path: nested
// structs repeat the names of those around them, so that a schema may be far larger than its
// document. Its names are therefore limited, and so is the work. Not thread-safe.
//
// Source: io.debezium.transforms.outbox.JsonSchemaData.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "encode/json_document.h"
#include "encode/schema.h"
#include "walrelay/config.h"

namespace walrelay {

class JsonInference {
 public:
  // `format` must outlive it. `most_bytes`: of the names in the schema.
  JsonInference(const FormatConfig& format, size_t most_bytes);

  // nullptr: a value that has no schema and is left out; or, with failed(), a document that has
  // none. `path` names structs; nullptr where they have no name.
  SchemaPtr Of(const std::string* path, const JsonValue& value);

  bool failed() const { return failed_; }
  // Why it failed: the schema would be too large.
  bool too_large() const { return too_large_; }

  // Whether Of() of it would be a schema.
  bool IsShown(const JsonValue& value) const;

 private:
  SchemaPtr Fail();
  bool Charge(size_t bytes);
  bool ChargeShape(size_t bytes);
  SchemaPtr OfNumber(const JsonValue& value) const;
  SchemaPtr OfObject(const std::string* path, const JsonValue& value);
  SchemaPtr OfArray(const std::string* path, const JsonValue& value);
  SchemaPtr OfElements(const std::string* path, const JsonValue& array);
  SchemaPtr OfObjects(const std::string* path, const JsonValue& array);
  const JsonValue* Sample(const JsonValue& array);

  const FormatConfig& format_;
  const size_t most_bytes_;
  size_t charged_ = 0;  // bytes of the names, and of the texts that shapes are told apart by
  size_t written_ = 0;  // bytes of all such texts, also of those that are gone
  bool failed_ = false;
  bool too_large_ = false;
  const SchemaPtr text_;
  const SchemaPtr boolean_;
  const SchemaPtr int32_;
  const SchemaPtr int64_;
  const SchemaPtr float64_;
  const SchemaPtr bytes_;
};

// int32, int64 or float64, by how the number is written and how large it is.
SchemaType NumberType(std::string_view text);

// nullopt: not written as an integer, or beyond 64 bits.
std::optional<int64_t> IntegerOf(std::string_view text);

}  // namespace walrelay
