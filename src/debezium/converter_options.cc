#include "debezium/converter_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "debezium/debezium_rules.h"

namespace walrelay {
namespace {

// Options of a converter, without its name. "schemas.enable" is handled with the converter itself.
constexpr FixedOption kFixedConverterOptions[] = {
    {"decimal.format", "base64", "walrelay writes decimals as base64"},
    {"replace.null.with.default", "true", "walrelay represents NULL as the column's default"},
    {"converter.encoding", "utf-8", "walrelay writes text as UTF-8"},
};

// The format of a converter class and its schemas.enable; "" for an unknown class.
std::string_view FormatOf(std::string_view converter, const DebeziumOptions& options,
                          const std::string& prefix) {
  if (converter.ends_with("StringConverter")) {
    return "string";
  }
  if (converter.ends_with("JsonConverter")) {
    // JsonConverter's default of schemas.enable is true.
    const bool enabled = JavaLower(ValueOr(options, prefix + ".schemas.enable", "")) != "false";
    return enabled ? "json_schema" : "json";
  }
  const bool bytes = converter.ends_with("ByteArrayConverter") ||
                     converter.ends_with("BinaryDataConverter") ||
                     converter.ends_with("ByteBufferConverter");
  return bytes ? "bytes" : "";
}

constexpr std::string_view kDelegate = ".delegate.converter.type";

// Converters whose bytes need a schema registry. As a delegate they may be named for what is not an
// event: a payload of type bytea does not reach a delegate.
bool NeedsRegistry(std::string_view converter) {
  return converter.ends_with("AvroConverter") || converter.ends_with("ProtobufConverter") ||
         converter.ends_with("JsonSchemaConverter");
}

// "value.converter" and all properties with this prefix.
PropertyResult TranslateConverter(std::string_view part, std::string_view name,
                                  const std::string& value, const DebeziumOptions& connector,
                                  DebeziumTranslation& out) {
  const std::string converter = fmt::format("{}.converter", part);
  const std::string delegate = converter + std::string(kDelegate);
  if (name == converter || name == delegate) {
    const std::string setting =
        fmt::format("format.{}{}", part, name == delegate ? "_delegate" : "");
    const std::string_view format = FormatOf(JavaTrim(value), connector, std::string(name));
    if (format.empty() && name == delegate && NeedsRegistry(JavaTrim(value))) {
      return Equivalent(
          "no value of a bytea column reaches the delegate; walrelay refuses a row with another "
          "value (WR-3007)");
    }
    return format.empty()
               ? Refused(fmt::format("walrelay does not support \"{}\"", Printable(value, 120)),
                         setting)
               : out.Set(setting, std::string(format));
  }
  // The options of a delegate are those of a converter, under the delegate's prefix.
  const std::string& owner_name = name.starts_with(delegate + ".") ? delegate : converter;
  const std::string_view option = name.substr(std::min(owner_name.size() + 1, name.size()));
  const std::string owner = JavaTrim(ValueOr(connector, owner_name, ""));
  const std::string_view format = FormatOf(owner, connector, owner_name);
  if (format.empty() && !owner.empty()) {
    return Meaningless(owner_name == delegate && NeedsRegistry(owner)
                           ? "an option of the delegate"
                           : "an option of a refused converter");
  }
  if (option == "schemas.cache.size" || option == "converter.type") {
    return Meaningless("only concerns the internals of Connect's converter");
  }
  // Only JsonConverter, Debezium Server's default, has more options.
  if (format == "bytes" || (format == "string" && option != "converter.encoding")) {
    return Meaningless("this converter has no such option");
  }
  if (option == "schemas.enable") {
    return Translated(fmt::format("format.{}", part), "decides between json and json_schema");
  }
  if (auto fixed = CheckedAmong(kFixedConverterOptions, option, value)) {
    return *std::move(fixed);
  }
  return Refused("unknown option of a converter");
}

// walrelay has one format of headers; the options of other converters have nothing to apply to.
PropertyResult TranslateHeaderConverter(std::string_view name, const std::string& value,
                                        DebeziumTranslation& out) {
  const std::string converter = JavaTrim(value);
  if (name != "header.converter") {
    return Meaningless("an option of the header converter");
  }
  if (converter.ends_with("SimpleHeaderConverter")) {
    return out.Set("format.headers", "simple");
  }
  if (converter.ends_with("StringConverter")) {
    return out.Set("format.headers", "simple",
                   "same bytes for text, numbers and booleans; arrays and bytea differ");
  }
  return Refused(
      fmt::format("\"{}\": walrelay writes headers as SimpleHeaderConverter does, or unchanged",
                  Printable(value, 120)),
      "format.headers");
}

}  // namespace

std::optional<PropertyResult> TranslateConverterOption(std::string_view name,
                                                       const std::string& value,
                                                       const DebeziumOptions& connector,
                                                       DebeziumTranslation& out) {
  for (const std::string_view part : {"key", "value"}) {
    if (name.starts_with(fmt::format("{}.converter", part))) {
      return TranslateConverter(part, name, value, connector, out);
    }
  }
  if (name.starts_with("header.converter")) {
    return TranslateHeaderConverter(name, value, out);
  }
  return std::nullopt;
}

}  // namespace walrelay
