#include "encode/converter.h"

#include "encode/connect_json.h"
#include "encode/connect_text.h"
#include "walrelay/config/format.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A value without a schema is written as text.
const Schema& SchemaOrText(const Schema* schema) {
  static const Schema kText{.type = SchemaType::kString, .optional = true};
  return schema == nullptr ? kText : *schema;
}

// StringConverter writes NULL as no bytes: a tombstone.
absl::StatusOr<OptionalBytes> ConvertText(const Schema* schema, const Datum& datum,
                                          std::string& out) {
  if (datum.is_null()) {
    return std::nullopt;
  }
  WR_RETURN_IF_ERROR(AppendJavaText(SchemaOrText(schema), datum, out));
  return std::string_view(out);
}

absl::StatusOr<OptionalBytes> ConvertJson(const Schema* schema, const Datum& datum,
                                          std::string& out) {
  AppendConnectJson(SchemaOrText(schema), datum, out);
  return std::string_view(out);
}

absl::StatusOr<OptionalBytes> ConvertJsonSchema(const Schema* schema, const Datum& datum,
                                                std::string& out) {
  // JsonConverter's envelope. Without a schema the member is null, not absent.
  out += "{\"schema\":";
  if (schema == nullptr) {
    out += "null";
  } else {
    AppendConnectSchema(*schema, out);
  }
  out += ",\"payload\":";
  AppendConnectJson(SchemaOrText(schema), datum, out);
  out += '}';
  return std::string_view(out);
}

// kRaw is handled by the caller; kBytes arrives here only without a delegate.
absl::StatusOr<OptionalBytes> ConvertAs(Format format, const Schema* schema, const Datum& datum,
                                        std::string& out) {
  switch (format) {
    case Format::kString:
      return ConvertText(schema, datum, out);
    case Format::kJson:
      return ConvertJson(schema, datum, out);
    case Format::kJsonSchema:
      return ConvertJsonSchema(schema, datum, out);
    case Format::kRaw:
    case Format::kBytes:
      break;
  }
  return Error(ErrorCode::kValueInvalid, "format \"bytes\" supports only bytea columns",
               "Set a delegate for other columns ([format] key_delegate, value_delegate), or "
               "choose another format.");
}

Format FormatOf(Delegate delegate) {
  switch (delegate) {
    case Delegate::kString:
      return Format::kString;
    case Delegate::kJson:
      return Format::kJson;
    case Delegate::kJsonSchema:
      return Format::kJsonSchema;
    case Delegate::kNone:
      break;
  }
  return Format::kBytes;
}

}  // namespace

absl::StatusOr<OptionalBytes> Convert(const PartFormat& format, const Schema* schema,
                                      const Datum& datum, std::string& out) {
  // `out` is a buffer of the caller that keeps its capacity from row to row.
  out.clear();
  // Defaults replace NULL before anything else, as a consumer with schemas would see the value.
  const Datum& seen = schema == nullptr ? datum : OrDefault(*schema, datum);
  // A decimal is of type bytes too, but its value is not.
  const bool is_bytes = schema != nullptr && schema->type == SchemaType::kBytes &&
                        !std::holds_alternative<Decimal>(seen.value);
  if (format.format != Format::kBytes) {
    return ConvertAs(format.format, schema, seen, out);
  }
  if (!is_bytes) {
    return ConvertAs(FormatOf(format.delegate), schema, seen, out);
  }
  const auto* bytes = std::get_if<Bytes>(&seen.value);
  return bytes == nullptr ? OptionalBytes() : bytes->bytes;
}

}  // namespace walrelay
