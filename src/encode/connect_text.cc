#include "encode/connect_text.h"

#include <fmt/format.h>

#include <chrono>
#include <iterator>

#include "absl/strings/escaping.h"
#include "encode/java_number.h"
#include "encode/timestamp_text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The common part of both converters. Returns false for a value that only one of them supports.
class ScalarWriter {
 public:
  explicit ScalarWriter(std::string& out) : out_(out) {}

  bool operator()(Null) const {
    out_ += "null";
    return true;
  }
  bool operator()(bool value) const {
    out_ += value ? "true" : "false";
    return true;
  }
  bool operator()(int64_t value) const {
    fmt::format_to(std::back_inserter(out_), "{}", value);
    return true;
  }
  bool operator()(float value) const {
    AppendJavaFloat(value, out_);
    return true;
  }
  bool operator()(double value) const {
    AppendJavaDouble(value, out_);
    return true;
  }
  bool operator()(Decimal value) const {
    AppendBigDecimal(value.text, out_);
    return true;
  }
  template <typename Other>
  bool operator()(const Other&) const {
    return false;
  }

 private:
  std::string& out_;
};

// Quotes and backslashes only: Values.convertToString() escapes nothing else.
void AppendQuoted(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  out += '"';
}

// Mutually recursive with AppendMembers(); inference and the parser limit the depth.
void AppendEmbedded(const Schema& schema, const Datum& datum, std::string& out);

constexpr std::string_view kConnectTypes = "org.apache.kafka.connect.data.";

// Connect's own dates and times are objects of java.util.Date.
bool IsJavaDate(const Schema& schema) {
  return schema.name.starts_with(kConnectTypes) && schema.type != SchemaType::kBytes;
}

// Milliseconds since 1970, as Values.dateFormatFor() shows them: everything before the second day
// as a time of day, midnight as a date, anything else as both.
void AppendJavaDate(const Schema& schema, int64_t value, std::string& out) {
  constexpr int64_t kDay = 86'400'000;
  const bool is_date = schema.type == SchemaType::kInt32 && schema.name.ends_with(".Date");
  const int64_t millis = is_date ? value * kDay : value;
  const int64_t of_day = (millis % kDay + kDay) % kDay;
  const std::chrono::hh_mm_ss clock{std::chrono::milliseconds(of_day)};
  std::string date = millis < kDay ? "" : IsoDate((millis - of_day) / kDay);
  // SimpleDateFormat writes long years without a sign.
  out += date.starts_with('+') ? date.substr(1) : date;
  if (!date.empty() && of_day == 0) {
    return;
  }
  fmt::format_to(std::back_inserter(out), "{}{:02}:{:02}:{:02}.{:03}Z", date.empty() ? "" : "T",
                 clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                 clock.subseconds().count());
}

// A map without spaces.
void AppendMap(const Schema& schema, const DatumList& list, std::string& out) {
  out += '{';
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    out += i == 0 ? "" : ",";
    AppendEmbedded(*schema.keys, list[i], out);
    out += ':';
    AppendEmbedded(*schema.items, list[i + 1], out);
  }
  out += '}';
}

// A struct without spaces, as a map of quoted names.
void AppendMembers(const Schema& schema, const DatumList& list, std::string& out) {
  if (schema.type == SchemaType::kMap) {
    AppendMap(schema, list, out);
    return;
  }
  const bool is_struct = schema.type == SchemaType::kStruct;
  out += is_struct ? '{' : '[';
  for (size_t i = 0; i < list.size(); ++i) {
    out += i == 0 ? "" : ",";
    if (is_struct) {
      AppendQuoted(schema.fields[i].name, out);
      out += ':';
    }
    AppendEmbedded(is_struct ? *schema.fields[i].schema : *schema.items, list[i], out);
  }
  out += is_struct ? '}' : ']';
}

// Inside an array or a struct.
void AppendEmbedded(const Schema& schema, const Datum& datum, std::string& out) {
  const Datum& seen = OrDefault(schema, datum);
  if (const auto* text = std::get_if<std::string_view>(&seen.value)) {
    AppendQuoted(*text, out);
  } else if (const auto* bytes = std::get_if<Bytes>(&seen.value)) {
    AppendQuoted(absl::Base64Escape({bytes->bytes.data(), bytes->bytes.size()}), out);
  } else {
    AppendHeaderText(schema, seen, out);
  }
}

// Java cannot encode a lone surrogate: it writes "?".
void AppendWithoutSurrogates(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\xED' && i + 2 < text.size() &&
        static_cast<unsigned char>(text[i + 1]) >= 0xA0) {
      out += '?';
      i += 2;
    } else {
      out += text[i];
    }
  }
}

// AbstractMap.toString(): {a=1, b=null}
absl::Status AppendJavaMap(const Schema& schema, const DatumList& list, std::string& out) {
  out += '{';
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    out += i == 0 ? "" : ", ";
    WR_RETURN_IF_ERROR(AppendJavaText(*schema.keys, list[i], out));
    out += '=';
    WR_RETURN_IF_ERROR(AppendJavaText(*schema.items, list[i + 1], out));
  }
  out += '}';
  return absl::OkStatus();
}

}  // namespace

// Recursive for arrays and maps only; neither occurs inside the other.
absl::Status AppendJavaText(const Schema& schema, const Datum& datum, std::string& out) {
  if (IsJavaDate(schema) && !datum.is_null()) {
    return Error(ErrorCode::kValueInvalid,
                 "format \"string\" does not support the types of format.time \"connect\": "
                 "StringConverter would write a text that depends on the time zone of the worker",
                 "Use format \"json\", or another format.time.");
  }
  if (std::visit(ScalarWriter(out), datum.value)) {
    return absl::OkStatus();
  }
  if (const auto* text = std::get_if<std::string_view>(&datum.value)) {
    AppendWithoutSurrogates(*text, out);
    return absl::OkStatus();
  }
  const auto* list = std::get_if<DatumList>(&datum.value);
  if (list != nullptr && schema.type == SchemaType::kMap) {
    return AppendJavaMap(schema, *list, out);
  }
  if (list == nullptr || schema.type != SchemaType::kArray) {
    return Error(ErrorCode::kValueInvalid,
                 "format \"string\" does not support bytes and members: StringConverter would "
                 "write a Java object reference",
                 "Use format \"json\", or \"bytes\" for a bytea column.");
  }
  out += '[';
  for (size_t i = 0; i < list->size(); ++i) {
    // With a space, as in AbstractCollection.toString(); header text has none.
    out += i == 0 ? "" : ", ";
    WR_RETURN_IF_ERROR(AppendJavaText(*schema.items, (*list)[i], out));
  }
  out += ']';
  return absl::OkStatus();
}

// Never fails: SimpleHeaderConverter has a text for every value.
void AppendHeaderText(const Schema& schema, const Datum& datum, std::string& out) {
  const auto* number = std::get_if<int64_t>(&datum.value);
  if (number != nullptr && IsJavaDate(schema)) {
    return AppendJavaDate(schema, *number, out);
  }
  if (std::visit(ScalarWriter(out), datum.value)) {
    return;
  }
  if (const auto* text = std::get_if<std::string_view>(&datum.value)) {
    AppendWithoutSurrogates(*text, out);
  } else if (const auto* bytes = std::get_if<Bytes>(&datum.value)) {
    out += absl::Base64Escape({bytes->bytes.data(), bytes->bytes.size()});
  } else {
    AppendMembers(schema, std::get<DatumList>(datum.value), out);
  }
}

}  // namespace walrelay
