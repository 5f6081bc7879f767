#include "encode/json_expansion.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "base/text.h"
#include "encode/json_inference.h"
#include "walrelay/config/format.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using Kind = JsonValue::Kind;

bool IsInteger(std::string_view text) {
  return text.find_first_of(".eE") == std::string_view::npos;
}

// Fills the schema with the document's values. False: a value that does not fit its schema.
// A tree and a schema that was inferred from it: they differ where elements of an array were
// merged.
class Filling {
 public:
  Filling(const JsonInference& inference, size_t most_values)
      : inference_(inference), values_left_(most_values) {}

  // It stopped because there are too many values.
  bool too_large() const { return too_large_; }

  // The first name of a member that no schema contains. "": none.
  const std::string& lost() const { return lost_; }

  bool Value(const JsonValue& value, const Schema& schema, Datum& out) {
    switch (value.kind) {
      case Kind::kNull:
        return schema.optional;
      case Kind::kString:
        out.value = value.text;
        return schema.type == SchemaType::kString;
      case Kind::kBoolean:
        out.value = value.boolean;
        return schema.type == SchemaType::kBoolean;
      case Kind::kNumber:
        return Number(value, schema, out);
      case Kind::kArray:
        return schema.type == SchemaType::kArray && Array(value, *schema.items, out);
      case Kind::kObject:
        return schema.type == SchemaType::kStruct && Object(value, schema, out);
    }
    return false;
  }

 private:
  static bool Number(const JsonValue& value, const Schema& schema, Datum& out) {
    // The schema was inferred from another element, for example with a smaller integer.
    if (NumberType(value.text) != schema.type) {
      return false;
    }
    if (schema.type != SchemaType::kFloat64) {
      out.value = *IntegerOf(value.text);
      return true;
    }
    // As in Java, overflow yields infinity and underflow zero.
    double number = 0;
    const bool read = absl::SimpleAtod({value.text.data(), value.text.size()}, &number);
    out.value = number;
    return read && !IsInteger(value.text);
  }

  // Whether `values` more are within the limit.
  // Charged by the schema's size, not by the document's: a struct has all members of its schema.
  bool Take(size_t values) {
    too_large_ = too_large_ || values > values_left_;
    values_left_ -= too_large_ ? 0 : values;
    return !too_large_;
  }

  bool Array(const JsonValue& value, const Schema& items, Datum& out) {
    if (!Take(value.items().size())) {
      return false;
    }
    DatumList list(value.items().size());
    for (size_t i = 0; i < list.size(); ++i) {
      if (!Value(value.items()[i], items, list[i])) {
        return false;
      }
    }
    out.value = std::move(list);
    return true;
  }

  bool Object(const JsonValue& value, const Schema& schema, Datum& out) {
    if (!Take(schema.fields.size())) {
      return false;
    }
    // By name: a search per field would be quadratic in the size of the object.
    absl::flat_hash_map<std::string_view, size_t> places;
    for (size_t i = 0; i < value.names().size(); ++i) {
      places.emplace(value.names()[i], i);
    }
    DatumList list(schema.fields.size());
    for (size_t i = 0; i < list.size(); ++i) {
      const auto found = places.find(schema.fields[i].name);
      // A member that this element lacks: it stays NULL.
      if (found == places.end()) {
        continue;
      }
      if (!Value(value.items()[found->second], *schema.fields[i].schema, list[i])) {
        return false;
      }
      places.erase(found);
    }
    // Members that were merged away: Debezium would omit them without a word.
    for (const auto& [name, index] : places) {
      if (lost_.empty() && inference_.IsShown(value.items()[index])) {
        lost_ = Printable(name, 63);
      }
    }
    out.value = std::move(list);
    return true;
  }

  const JsonInference& inference_;
  size_t values_left_;
  bool too_large_ = false;
  std::string lost_;
};

}  // namespace

// In three steps, each of which may end it: infer a schema, fill it, and look for members that were
// lost.
absl::StatusOr<Expansion> Expand(std::string_view name, const JsonValue& root,
                                 const FormatConfig& format, const RowLimits& limits,
                                 RootOf root_of) {
  JsonInference inference(format, limits.schema_bytes);
  const std::string path(name);
  Expansion out;
  out.schema = inference.Of(&path, root);
  if (inference.too_large()) {
    return Error(ErrorCode::kRecordTooLarge, "the names in the schema of its JSON have more than " +
                                                 std::to_string(limits.schema_bytes) + " bytes");
  }
  if (inference.failed()) {
    return Expansion();
  }
  if (out.schema == nullptr) {
    out.kind = Expansion::Kind::kSchemaless;
    return out;
  }
  Filling filling(inference, limits.json_values);
  const bool may_be = root_of == RootOf::kMember || root.kind == Kind::kObject;
  const bool fits = may_be && filling.Value(root, *out.schema, out.datum);
  if (filling.too_large()) {
    return Error(ErrorCode::kRecordTooLarge,
                 "its JSON, with all members of all elements, has more than " +
                     std::to_string(limits.json_values) + " values");
  }
  if (!fits) {
    out.kind = Expansion::Kind::kMismatch;
    return out;
  }
  if (!filling.lost().empty()) {
    return Error(ErrorCode::kValueInvalid,
                 "the payload's member \"" + filling.lost() +
                     "\" is in an array inside an array of objects and would be omitted",
                 "Publish the payload unchanged: format.expand_json = false.");
  }
  out.kind = Expansion::Kind::kExpanded;
  return out;
}

}  // namespace walrelay
