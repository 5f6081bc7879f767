#include "encode/connect_text.h"

#include <fmt/format.h>

#include <iterator>

#include "absl/strings/escaping.h"
#include "encode/java_number.h"
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

// Mutually recursive with AppendList(); inference and the parser limit the depth.
void AppendEmbedded(const Schema& schema, const Datum& datum, std::string& out);

// A struct without spaces, as a map of quoted names.
void AppendList(const Schema& schema, const DatumList& list, std::string& out) {
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

}  // namespace

// Recursive for arrays only; an array inside an array does not occur.
absl::Status AppendJavaText(const Schema& schema, const Datum& datum, std::string& out) {
  if (std::visit(ScalarWriter(out), datum.value)) {
    return absl::OkStatus();
  }
  if (const auto* text = std::get_if<std::string_view>(&datum.value)) {
    AppendWithoutSurrogates(*text, out);
    return absl::OkStatus();
  }
  const auto* list = std::get_if<DatumList>(&datum.value);
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
  if (std::visit(ScalarWriter(out), datum.value)) {
    return;
  }
  if (const auto* text = std::get_if<std::string_view>(&datum.value)) {
    AppendWithoutSurrogates(*text, out);
  } else if (const auto* bytes = std::get_if<Bytes>(&datum.value)) {
    out += absl::Base64Escape({bytes->bytes.data(), bytes->bytes.size()});
  } else {
    AppendList(schema, std::get<DatumList>(datum.value), out);
  }
}

}  // namespace walrelay
