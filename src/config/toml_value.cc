#include "config/toml_value.h"

#include <fmt/format.h>

#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"

namespace walrelay {
namespace {

// The dotted name that a table was written as: "linger.ms = 5" is { linger = { ms = 5 } }.
std::string DottedName(const toml::key& key, const toml::node& node) {
  std::string name(key.str());
  for (const toml::node* inner = &node; inner->is_table() && inner->as_table()->size() == 1;) {
    const auto only = inner->as_table()->begin();
    name += fmt::format(".{}", only->first.str());
    inner = &only->second;
  }
  return name;
}

std::string TextOf(const RawValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return *text;
  }
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return fmt::format("{}", *number);
  }
  return std::get<bool>(value) ? "true" : "false";
}

}  // namespace

std::optional<RawValue> ToRaw(const toml::node& node) {
  if (const auto* text = node.as_string()) {
    return RawValue(text->get());
  }
  if (const auto* number = node.as_integer()) {
    return RawValue(number->get());
  }
  if (const auto* flag = node.as_boolean()) {
    return RawValue(flag->get());
  }
  if (const auto* array = node.as_array()) {
    std::vector<std::string> list;
    for (const toml::node& element : *array) {
      if (!element.is_string()) {
        return std::nullopt;
      }
      list.push_back(element.as_string()->get());
    }
    return RawValue(std::move(list));
  }
  return std::nullopt;
}

std::string_view KindOf(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array of other values";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    default:
      return "a date or a time";
  }
}

std::optional<std::string> ReadScalar(const toml::key& key, const toml::node& node,
                                      FileProblems& problems) {
  const auto value = ToRaw(node);
  if (node.is_table() && !node.as_table()->empty()) {
    problems.Invalid(key.source(),
                     fmt::format("a name that contains a dot must be in quotes: \"{}\"",
                                 Printable(DottedName(key, node), 80)));
  } else if (!value || std::holds_alternative<std::vector<std::string>>(*value)) {
    problems.Invalid(node.source(), fmt::format("\"{}\": expected a string, a number or a boolean",
                                                Printable(key.str(), 80)));
  } else {
    return TextOf(*value);
  }
  return std::nullopt;
}

std::optional<ColumnNames> ReadColumn(const toml::node& node, std::string_view what,
                                      FileProblems& problems) {
  ColumnNames column;
  const auto value = ToRaw(node);
  if (!value || !ParseInto(*value, column).ok() || column.empty()) {
    problems.Invalid(node.source(),
                     fmt::format("{}: expected a name, or a list of distinct names", what));
    return std::nullopt;
  }
  return column;
}

}  // namespace walrelay
