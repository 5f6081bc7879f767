#include "encode/connect_json.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "absl/strings/escaping.h"
#include "encode/java_number.h"

namespace walrelay {
namespace {

// As in JsonConverter: the names of Connect's types, except float and double.
std::string_view TypeName(SchemaType type) {
  switch (type) {
    case SchemaType::kInt8:
      return "int8";
    case SchemaType::kInt16:
      return "int16";
    case SchemaType::kInt32:
      return "int32";
    case SchemaType::kInt64:
      return "int64";
    case SchemaType::kFloat32:
      return "float";
    case SchemaType::kFloat64:
      return "double";
    case SchemaType::kBoolean:
      return "boolean";
    case SchemaType::kString:
      return "string";
    case SchemaType::kBytes:
      return "bytes";
    case SchemaType::kArray:
      return "array";
    case SchemaType::kMap:
      return "map";
    case SchemaType::kStruct:
      return "struct";
  }
  return "?";
}

void AppendBase64(std::string_view bytes, std::string& out) {
  out += '"';
  out += absl::Base64Escape({bytes.data(), bytes.size()});
  out += '"';
}

// NaN and the infinities are not JSON numbers: Jackson quotes them.
template <typename Float>
void AppendNumber(Float number, std::string& out) {
  const std::string_view quote = std::isfinite(number) ? "" : "\"";
  out += quote;
  if constexpr (sizeof(Float) == sizeof(double)) {
    AppendJavaDouble(number, out);
  } else {
    AppendJavaFloat(number, out);
  }
  out += quote;
}

// Four upper-case digits, as Jackson writes them.
void AppendEscape(unsigned unit, std::string& out) {
  fmt::format_to(std::back_inserter(out), "\\u{:04X}", unit);
}

// Escapes a character of three or four bytes if that is required. Returns the number of bytes
// consumed.
size_t AppendEscapedSequence(std::string_view text, std::string& out) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  // A lone surrogate, which only an escape in JSON can produce. Jackson writes it as an escape
  // again.
  const bool surrogate = byte(0) == 0xED && text.size() >= 3 && byte(1) >= 0xA0;
  if (surrogate) {
    AppendEscape(0xD000u | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu), out);
    return 3;
  }
  // A character beyond the BMP is two UTF-16 units in Java, and each is escaped.
  if (byte(0) >= 0xF0 && text.size() >= 4) {
    const unsigned point = (byte(0) & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 |
                           (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
    AppendEscape(0xD800u + ((point - 0x10000u) >> 10), out);
    AppendEscape(0xDC00u + ((point - 0x10000u) & 0x3FFu), out);
    return 4;
  }
  out += text[0];
  return 1;
}

// JSON's short escapes, where they exist.
void AppendControl(unsigned char c, std::string& out) {
  switch (c) {
    case '\b':
      out += "\\b";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\f':
      out += "\\f";
      break;
    case '\r':
      out += "\\r";
      break;
    default:
      AppendEscape(c, out);
  }
}

// The attributes of a schema other than its type and its members, in JsonConverter's order.
void AppendAttributes(const Schema& schema, std::string& out) {
  fmt::format_to(std::back_inserter(out), ",\"optional\":{}", schema.optional);
  if (!schema.name.empty()) {
    out += ",\"name\":";
    AppendJacksonString(schema.name, out);
  }
  if (schema.version) {
    fmt::format_to(std::back_inserter(out), ",\"version\":{}", *schema.version);
  }
  if (!schema.doc.empty()) {
    out += ",\"doc\":";
    AppendJacksonString(schema.doc, out);
  }
  if (!schema.parameters.empty()) {
    std::string_view separator = ",\"parameters\":{";
    for (const auto& [name, value] : schema.parameters) {
      out += separator;
      AppendJacksonString(name, out);
      out += ':';
      AppendJacksonString(value, out);
      separator = ",";
    }
    out += '}';
  }
  if (schema.default_value != nullptr) {
    out += ",\"default\":";
    // In the form of a value of this schema.
    AppendConnectJson(schema, *schema.default_value, out);
  }
}

// `field` is the name of the schema's field in a struct; nullptr: it is not in a struct.
// The order of the members is that of JsonConverter.asJsonSchema(): type, then items or fields,
// then the attributes, then the field's name.
void AppendSchemaOf(const Schema& schema, const std::string* field, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{{\"type\":\"{}\"", TypeName(schema.type));
  if (schema.type == SchemaType::kArray) {
    out += ",\"items\":";
    AppendSchemaOf(*schema.items, nullptr, out);
  } else if (schema.type == SchemaType::kMap) {
    out += ",\"keys\":";
    AppendSchemaOf(*schema.keys, nullptr, out);
    out += ",\"values\":";
    AppendSchemaOf(*schema.items, nullptr, out);
  } else if (schema.type == SchemaType::kStruct) {
    out += ",\"fields\":[";
    for (size_t i = 0; i < schema.fields.size(); ++i) {
      out += i == 0 ? "" : ",";
      AppendSchemaOf(*schema.fields[i].schema, &schema.fields[i].name, out);
    }
    out += ']';
  }
  AppendAttributes(schema, out);
  if (field != nullptr) {
    out += ",\"field\":";
    AppendJacksonString(*field, out);
  }
  out += '}';
}

// Visits the value; the schema decides whether a list is an array, a map or a struct.
class JsonWriter {
 public:
  JsonWriter(const Schema& schema, std::string& out) : schema_(schema), out_(out) {}

  void operator()(Null) const { out_ += "null"; }
  void operator()(bool value) const { out_ += value ? "true" : "false"; }
  void operator()(int64_t value) const { fmt::format_to(std::back_inserter(out_), "{}", value); }
  void operator()(float value) const { AppendNumber(value, out_); }
  void operator()(double value) const { AppendNumber(value, out_); }
  void operator()(std::string_view text) const { AppendJacksonString(text, out_); }
  void operator()(Bytes value) const { AppendBase64(value.bytes, out_); }
  // Connect's Decimal is the unscaled value in two's complement, big endian.
  void operator()(Decimal value) const { AppendBase64(UnscaledBytes(value.text), out_); }
  void operator()(const DatumList& list) const {
    if (schema_.type == SchemaType::kMap) {
      AppendMap(list);
      return;
    }
    const bool is_struct = schema_.type == SchemaType::kStruct;
    out_ += is_struct ? '{' : '[';
    for (size_t i = 0; i < list.size(); ++i) {
      out_ += i == 0 ? "" : ",";
      if (is_struct) {
        AppendJacksonString(schema_.fields[i].name, out_);
        out_ += ':';
      }
      AppendConnectJson(is_struct ? *schema_.fields[i].schema : *schema_.items, list[i], out_);
    }
    out_ += is_struct ? '}' : ']';
  }

 private:
  // An object: the keys of every map are strings.
  void AppendMap(const DatumList& list) const {
    out_ += '{';
    for (size_t i = 0; i + 1 < list.size(); i += 2) {
      out_ += i == 0 ? "" : ",";
      AppendConnectJson(*schema_.keys, list[i], out_);
      out_ += ':';
      AppendConnectJson(*schema_.items, list[i + 1], out_);
    }
    out_ += '}';
  }

  const Schema& schema_;
  std::string& out_;
};

}  // namespace

void AppendConnectSchema(const Schema& schema, std::string& out) {
  AppendSchemaOf(schema, nullptr, out);
}

void AppendConnectJson(const Schema& schema, const Datum& datum, std::string& out) {
  std::visit(JsonWriter(schema, out), OrDefault(schema, datum).value);
}

void AppendJacksonText(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      AppendControl(static_cast<unsigned char>(c), out);
    } else {
      out += c == '"' || c == '\\' ? "\\" : "";
      out += c;
    }
  }
  out += '"';
}

void AppendJacksonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    size_t taken = 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[0];
    } else if (c < 0x20) {
      AppendControl(c, out);
      // 0xED begins the surrogates, 0xF0 characters of four bytes; what is in between is copied by
      // the function.
    } else if (c >= 0xED) {
      taken = AppendEscapedSequence(text, out);
    } else {
      // Copy a run without special characters in one step.
      while (taken < text.size() && static_cast<unsigned char>(text[taken]) >= 0x20 &&
             static_cast<unsigned char>(text[taken]) < 0xED && text[taken] != '"' &&
             text[taken] != '\\') {
        ++taken;
      }
      out += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  out += '"';
}

}  // namespace walrelay
