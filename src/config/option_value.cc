#include "config/option_value.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "config/value_text.h"

namespace walrelay {
namespace {

// from_chars() accepts no leading plus sign and no spaces.
absl::StatusOr<RawValue> IntegerFromText(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return InvalidValue("expected a whole number");
  }
  return RawValue(number);
}

// No escapes: a value with a comma can be written in the file only.
RawValue ListFromText(std::string_view text) {
  std::vector<std::string> list;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    list.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return list;
}

}  // namespace

absl::Status ParseInto(const RawValue& value, std::string& out) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) {
    return InvalidValue("expected a string");
  }
  // libpq and librdkafka take C strings: they would use the part before the zero byte.
  if (text->find('\0') != std::string::npos) {
    return InvalidValue("expected a string without a zero byte");
  }
  out = *text;
  return absl::OkStatus();
}

absl::Status ParseInto(const RawValue& value, ColumnNames& out) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    const std::set<std::string_view> distinct(list->begin(), list->end());
    if (list->empty() || distinct.size() < list->size() || distinct.contains("")) {
      return InvalidValue("expected a list of distinct names");
    }
    for (const std::string& name : *list) {
      std::string checked;
      WR_RETURN_IF_ERROR(ParseInto(RawValue(name), checked));
    }
    out = ColumnNames(*list);
    return absl::OkStatus();
  }
  if (!std::holds_alternative<std::string>(value)) {
    return InvalidValue("expected a string, or a list of strings");
  }
  std::string name;
  WR_RETURN_IF_ERROR(ParseInto(value, name));
  out = ColumnNames(std::move(name));
  return absl::OkStatus();
}

// Present, also if it is empty: "" means that there is no column.
absl::Status ParseInto(const RawValue& value, std::optional<ColumnNames>& out) {
  ColumnNames names;
  WR_RETURN_IF_ERROR(ParseInto(value, names));
  out = std::move(names);
  return absl::OkStatus();
}

absl::Status ParseInto(const RawValue& value, Secret& out) {
  std::string text;
  WR_RETURN_IF_ERROR(ParseInto(value, text));
  out = Secret(std::move(text));
  return absl::OkStatus();
}

absl::Status ParseInto(const RawValue& value, bool& out) {
  if (const bool* flag = std::get_if<bool>(&value)) {
    out = *flag;
    return absl::OkStatus();
  }
  return InvalidValue("expected true or false");
}

// Every integer option is a limit, for which 0 has no meaning.
absl::Status ParseInto(const RawValue& value, int64_t& out) {
  const int64_t* number = std::get_if<int64_t>(&value);
  if (number == nullptr || *number < 1) {
    return InvalidValue("expected a whole number from 1 up");
  }
  out = *number;
  return absl::OkStatus();
}

absl::Status ParseInto(const RawValue& value, Micros& out) {
  const auto* text = std::get_if<std::string>(&value);
  const auto duration = text != nullptr ? ParseDuration(*text) : std::nullopt;
  if (!duration) {
    return InvalidValue("expected a duration such as \"30s\" (us, ms, s, m, h)");
  }
  out = *duration;
  return absl::OkStatus();
}

absl::Status ParseInto(const RawValue& value, std::vector<std::string>& out) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    out = *list;
    return absl::OkStatus();
  }
  return InvalidValue("expected a list of strings");
}

using enum OptionType;

std::string_view TypeName(OptionType type) {
  switch (type) {
    case kString:
      return "string";
    case kSecret:
      return "secret";
    case kBoolean:
      return "true or false";
    case kInteger:
      return "integer";
    case kDuration:
      return "duration";
    case kSize:
      return "size";
    case kList:
      return "list of strings";
    case kNames:
      return "string or list of strings";
    case kChoice:
      return "one of";
  }
  return "?";
}

// The text of a variable or a flag has no quotes, so that text and choices are taken as they are.
absl::StatusOr<RawValue> FromText(OptionType type, std::string_view text) {
  switch (type) {
    case kBoolean:
      // Exactly TOML's words. "yes" or "1" would work in one source and fail in another.
      if (text == "true" || text == "false") {
        return RawValue(text == "true");
      }
      return InvalidValue("expected true or false");
    case kInteger:
      return IntegerFromText(text);
    case kList:
      return ListFromText(text);
    case kNames:
      return text.find(',') == std::string_view::npos ? RawValue(std::string(text))
                                                      : ListFromText(text);
    case kString:
    case kSecret:
    case kDuration:
    case kSize:
    case kChoice:
      return RawValue(std::string(text));
  }
  return InvalidValue("the option has an unknown type");
}

}  // namespace walrelay
