#include "encode/json_inference.h"

#include <charconv>
#include <limits>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "encode/connect_json.h"
#include "walrelay/config/format.h"

namespace walrelay {
namespace {

using Kind = JsonValue::Kind;

// Multiple of most_bytes: total size of the texts that may be written to distinguish shapes.
// Each shape is written once to compare it, so the work is bounded as well as the result.
constexpr size_t kMaxWork = 8;

// Shared by all values of the type: a document of a million numbers has one schema for them.
SchemaPtr Optional(SchemaType type) {
  return std::make_shared<const Schema>(Schema{.type = type, .optional = true});
}

// The first occurrence of a member decides its type, unless it is null.
void Merge(const Schema& shape, Schema& merged, absl::flat_hash_map<std::string, size_t>& places) {
  for (const SchemaField& field : shape.fields) {
    const auto [place, is_new] = places.try_emplace(field.name, merged.fields.size());
    if (is_new) {
      merged.fields.push_back(field);
    } else if (merged.fields[place->second].schema->type == SchemaType::kBytes) {
      merged.fields[place->second] = field;
    }
  }
}

}  // namespace

std::optional<int64_t> IntegerOf(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

SchemaType NumberType(std::string_view text) {
  const auto number = IntegerOf(text);
  if (!number) {
    return SchemaType::kFloat64;
  }
  const bool small = *number >= std::numeric_limits<int32_t>::min() &&
                     *number <= std::numeric_limits<int32_t>::max();
  return small ? SchemaType::kInt32 : SchemaType::kInt64;
}

JsonInference::JsonInference(const FormatConfig& format, size_t most_bytes)
    : format_(format),
      most_bytes_(most_bytes),
      text_(Optional(SchemaType::kString)),
      boolean_(Optional(SchemaType::kBoolean)),
      int32_(Optional(SchemaType::kInt32)),
      int64_(Optional(SchemaType::kInt64)),
      float64_(Optional(SchemaType::kFloat64)),
      bytes_(Optional(SchemaType::kBytes)) {}

// The type of each value alone; arrays and structs ask for their members.
SchemaPtr JsonInference::Of(const std::string* path, const JsonValue& value) {
  switch (value.kind) {
    case Kind::kString:
      return text_;
    case Kind::kBoolean:
      return boolean_;
    case Kind::kNumber:
      return OfNumber(value);
    case Kind::kNull:
      return format_.json_nulls == NullMembers::kOptionalBytes ? bytes_ : nullptr;
    case Kind::kArray:
      return OfArray(path, value);
    case Kind::kObject:
      return OfObject(path, value);
  }
  return nullptr;
}

bool JsonInference::IsShown(const JsonValue& value) const {
  if (value.kind == Kind::kNull) {
    return format_.json_nulls == NullMembers::kOptionalBytes;
  }
  return value.kind != Kind::kArray || !value.items().empty() ||
         format_.json_empty_arrays == EmptyArrays::kOptionalString;
}

// The first failure ends the inference: every function returns when failed_ is set.
SchemaPtr JsonInference::Fail() {
  failed_ = true;
  return nullptr;
}

// Whether there is room for these bytes; if so, they are charged.
bool JsonInference::Charge(size_t bytes) {
  charged_ += bytes;
  if (charged_ > most_bytes_) {
    too_large_ = true;
    Fail();
  }
  return !too_large_;
}

// Also bounds the text that is written and then discarded, because its shape is known.
bool JsonInference::ChargeShape(size_t bytes) {
  written_ += bytes;
  return Charge(written_ <= kMaxWork * most_bytes_ ? bytes : most_bytes_ + 1);
}

SchemaPtr JsonInference::OfNumber(const JsonValue& value) const {
  switch (NumberType(value.text)) {
    case SchemaType::kInt32:
      return int32_;
    case SchemaType::kInt64:
      return int64_;
    default:
      return float64_;
  }
}

SchemaPtr JsonInference::OfObject(const std::string* path, const JsonValue& value) {
  Schema schema{.type = SchemaType::kStruct, .optional = true};
  schema.name = path == nullptr ? "" : *path;
  if (!Charge(schema.name.size())) {
    return nullptr;
  }
  for (size_t i = 0; i < value.items().size() && !failed_; ++i) {
    const std::string name(value.names()[i]);
    // Debezium names the schema of a nested struct by its path. A blank path is treated as none.
    const bool rooted = path != nullptr && path->find_first_not_of(' ') != std::string::npos;
    const std::string below = rooted ? *path + "." + name : name;
    if (SchemaPtr member = Of(&below, value.items()[i]); member != nullptr) {
      // A member must have a name.
      if (name.empty() || !Charge(name.size())) {
        return Fail();
      }
      schema.fields.push_back({name, std::move(member)});
    }
  }
  return failed_ ? nullptr : std::make_shared<const Schema>(std::move(schema));
}

SchemaPtr JsonInference::OfArray(const std::string* path, const JsonValue& value) {
  SchemaPtr items;
  if (!value.items().empty()) {
    items = OfElements(path, value);
  } else if (format_.json_empty_arrays == EmptyArrays::kOptionalString) {
    items = text_;
  }
  if (items == nullptr || failed_) {
    return nullptr;
  }
  return std::make_shared<const Schema>(
      Schema{.type = SchemaType::kArray, .optional = true, .items = std::move(items)});
}

// The first element that is not null, if all elements are of its type; otherwise failed().
const JsonValue* JsonInference::Sample(const JsonValue& array) {
  // All elements are null: the sample is null too.
  static const JsonValue kNothing;
  const JsonValue* sample = &kNothing;
  for (const JsonValue& element : array.items()) {
    if (element.kind == Kind::kNull) {
      continue;
    }
    sample = sample->kind == Kind::kNull ? &element : sample;
    const bool alike =
        element.kind == sample->kind &&
        (element.kind != Kind::kNumber || NumberType(element.text) == NumberType(sample->text));
    if (!alike) {
      Fail();
    }
  }
  return sample;
}

// One type for all elements; objects may differ in their members.
SchemaPtr JsonInference::OfElements(const std::string* path, const JsonValue& array) {
  const JsonValue* sample = Sample(array);
  if (failed_) {
    return nullptr;
  }
  if (sample->kind == Kind::kObject) {
    return OfObjects(path, array);
  }
  SchemaPtr items = Of(nullptr, *sample);
  return items == nullptr ? Fail() : items;
}

// All members of all shapes. More than one shape makes the elements required.
SchemaPtr JsonInference::OfObjects(const std::string* path, const JsonValue& array) {
  absl::flat_hash_set<std::string> shapes;
  absl::flat_hash_map<std::string, size_t> places;
  SchemaPtr first;
  Schema merged;
  size_t texts = 0;
  for (const JsonValue& element : array.items()) {
    if (element.kind != Kind::kObject) {
      continue;
    }
    const size_t before = charged_;
    const SchemaPtr shape = Of(path, element);
    if (failed_) {
      return nullptr;
    }
    std::string text;
    AppendConnectSchema(*shape, text);
    const size_t size = text.size();
    if (!ChargeShape(size)) {
      return nullptr;
    }
    if (shapes.insert(std::move(text)).second) {
      texts += size;
      first = first == nullptr ? shape : first;
      Merge(*shape, merged, places);
    } else {
      charged_ = before;  // it is discarded
    }
  }
  // The texts of the shapes are only compared; they end with this function.
  charged_ -= texts;
  if (shapes.size() == 1) {
    return first;
  }
  merged.type = SchemaType::kStruct;
  merged.name = first->name;
  return std::make_shared<const Schema>(std::move(merged));
}

}  // namespace walrelay
