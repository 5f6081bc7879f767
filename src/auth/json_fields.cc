#include "auth/json_fields.h"

#include <simdjson.h>

#include <cmath>

namespace walrelay {
namespace {

// 2^62: the bounds of int64_t are not doubles, and no time is this late.
std::optional<int64_t> WholeNumber(const simdjson::dom::element& value) {
  int64_t whole = 0;
  double number = 0;
  if (value.get(whole) == simdjson::SUCCESS) {
    return whole;
  }
  constexpr double kMax = 4611686018427387904.0;
  if (value.get(number) != simdjson::SUCCESS || std::fabs(number) > kMax) {
    return std::nullopt;
  }
  return static_cast<int64_t>(number);
}

}  // namespace

std::optional<JsonFields> JsonFields::Parse(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  JsonFields fields;
  for (const auto& [name, value] : object) {
    std::string_view string;
    if (value.get(string) == simdjson::SUCCESS) {
      fields.texts_.insert_or_assign(std::string(name), Secret(std::string(string)));
    } else if (const auto number = WholeNumber(value)) {
      fields.numbers_.insert_or_assign(std::string(name), *number);
    }
  }
  return fields;
}

const Secret& JsonFields::Text(std::string_view name) const {
  static const Secret kNone;
  const auto found = texts_.find(name);
  return found == texts_.end() ? kNone : found->second;
}

std::optional<int64_t> JsonFields::Number(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace walrelay
