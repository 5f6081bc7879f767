// Builds JSON text for reports and lines of output.
//
// Not a library: nlohmann-json writes bidirectional controls unescaped, and 1.0 for the number 1.
// For records see encode/connect_json.h, which matches Jackson byte for byte.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "walrelay/clock.h"

namespace walrelay {

// A JSON string, see AppendJsonString(); nullopt: null.
std::string JsonText(const std::optional<std::string_view>& text);

// Builds an object. Members keep their order; absent values are omitted.
// Views are copied. REQUIRES: each name is added once; duplicates are not detected. Not
// thread-safe.
class JsonObject {
 public:
  void Add(std::string_view name, std::string_view text);
  void Add(std::string_view name, const char* text) { Add(name, std::string_view(text)); }
  void Add(std::string_view name, bool value) { Raw(name, value ? "true" : "false"); }
  void Add(std::string_view name, WallTime time) { Add(name, Rfc3339(time)); }
  // REQUIRES: finite. JSON has no NaN and no infinity, and none is written as null here.
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void Add(std::string_view name, Number value) { Raw(name, fmt::format("{}", value)); }
  template <typename Value>
  void Add(std::string_view name, const std::optional<Value>& value) {
    if (value) {
      Add(name, *value);
    }
  }
  // Omits an empty text.
  void AddText(std::string_view name, std::string_view text) {
    if (!text.empty()) {
      Add(name, text);
    }
  }
  // Writes null for an absent value.
  template <typename Value>
  void AddOrNull(std::string_view name, const std::optional<Value>& value) {
    value ? Add(name, *value) : Raw(name, "null");
  }
  // `json` must be valid JSON.
  void Raw(std::string_view name, std::string_view json);

  // The object must not be used afterwards.
  std::string Finish() && { return std::move(out_) + "}"; }

 private:
  std::string out_ = "{";
};

// An array of the results of `to_json`, which must be valid JSON.
// In the order of `items`; "[]" if there are none.
template <typename Items, typename Function>
std::string JsonArray(const Items& items, Function&& to_json) {
  std::string out = "[";
  for (const auto& item : items) {
    out += out.size() > 1 ? "," : "";
    out += to_json(item);
  }
  return out + "]";
}

}  // namespace walrelay
