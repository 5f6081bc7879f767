#include <fmt/format.h>

#include <string>
#include <utility>

#include "config/option_rows.h"
#include "config/section.h"

namespace walrelay {
namespace {

using enum OptionType;
constexpr auto kFormat = &Config::format;

constexpr Option kFormatRows[] = {
    FormatRow<&FormatConfig::key, &PartFormat::format>(
        "key",
        "How the key column is converted to bytes. `raw`: unchanged. The others produce the "
        "same bytes as Connect's converters: `string` (StringConverter), `json` and "
        "`json_schema` (JsonConverter without and with schemas), `bytes` "
        "(ByteArrayConverter). They represent types, and a default in place of NULL, as "
        "Debezium does."),
    FormatRow<&FormatConfig::key, &PartFormat::delegate>(
        "key_delegate",
        "With `key = \"bytes\"`, the format of columns that are not bytea "
        "(BinaryDataConverter's delegate)."),
    FormatRow<&FormatConfig::value, &PartFormat::format>(
        "value", "The same for the value. An envelope requires `json` or `json_schema`."),
    FormatRow<&FormatConfig::value, &PartFormat::delegate>(
        "value_delegate", "With `value = \"bytes\"`, the format of columns that are not bytea."),
    ChoiceRow<kFormat, &FormatConfig::headers>(
        "format", "headers",
        "`raw`: columns unchanged. `simple`: columns as Connect's SimpleHeaderConverter "
        "writes them."),
    Row<kFormat, &FormatConfig::expand_json>(
        "format", "expand_json", kBoolean,
        "A text payload that is a JSON object becomes a value with members instead of a string "
        "(Debezium's `table.expand.json.payload`)."),
    ChoiceRow<kFormat, &FormatConfig::json_nulls>(
        "format", "json_nulls", "How null members are represented by `expand_json`."),
    ChoiceRow<kFormat, &FormatConfig::json_empty_arrays>(
        "format", "json_empty_arrays", "How `[]` members are represented by `expand_json`."),
    ChoiceRow<kFormat, &FormatConfig::message_nulls>(
        "format", "message_nulls",
        "Null members of a logical message: `ignore` treats them as absent (Debezium's "
        "`fields.null.include = false`), `optional_bytes` as NULL."),
    FormatRow<&FormatConfig::types, &TypeModes::decimal>(
        "decimal",
        "How Connect's formats represent numeric (Debezium's `decimal.handling.mode`). `precise`: "
        "as Decimal; `double`: as a double, which may lose digits; `string`: as text."),
    FormatRow<&FormatConfig::types, &TypeModes::time>(
        "time",
        "How they represent date, time and timestamp without time zone (Debezium's "
        "`time.precision.mode`). `adaptive`: in milliseconds up to a declared precision of 3, "
        "otherwise in microseconds; `adaptive_time_microseconds`: the same, but time always in "
        "microseconds; `connect`: Connect's types, in milliseconds; `isostring`: ISO 8601; "
        "`microseconds`; `nanoseconds`; `structured`: as a struct of year, month and so on, also "
        "types with a time zone and intervals."),
    FormatRow<&FormatConfig::types, &TypeModes::binary>(
        "binary",
        "How they represent bytea (Debezium's `binary.handling.mode`): as bytes, or as text in "
        "`base64`, `base64_url_safe` or `hex`."),
    FormatRow<&FormatConfig::types, &TypeModes::interval>(
        "interval",
        "How they represent interval (Debezium's `interval.handling.mode`). `numeric`: in "
        "microseconds, a month as 30.4375 days; `string`: as `P1Y2M3DT4H5M6.78S`."),
    FormatRow<&FormatConfig::types, &TypeModes::hstore>(
        "hstore",
        "How they represent hstore (Debezium's `hstore.handling.mode`): as the text of a JSON "
        "object, or as a map."),
    FormatRow<&FormatConfig::types, &TypeModes::unknown>(
        "unknown_types",
        "A column of a type that Debezium does not know. `reject`: it blocks publishing; `bytes`: "
        "its text, represented like bytea (Debezium's `include.unknown.datatypes`)."),
    FormatRow<&FormatConfig::types, &TypeModes::version>(
        "debezium_version",
        "The version of Debezium whose bytes are published where versions differ: in infinite "
        "dates, defaults with quotes, geometric types and a few others "
        "(docs/reference/debezium-parity.md)."),
    Row<kFormat, &FormatConfig::schema_prefix>(
        "format", "schema_prefix", kString,
        "Prefix of the schema names of envelopes (Debezium's `topic.prefix`), as in "
        "`PREFIX.public.outbox.order.Value`."),
    Row<kFormat, &FormatConfig::context_headers>(
        "format", "context_headers", kBoolean,
        "Add Debezium's `__debezium.context.*` headers before the others: "
        "connectorLogicalName (`schema_prefix`), taskId, connectorName, runId."),
};

void CheckFormat(const Config& config, ConfigNeeds /*needs*/, ConfigErrors& errors) {
  const FormatConfig& format = config.format;
  for (const auto& [key, part] :
       {std::pair("key", &format.key), std::pair("value", &format.value)}) {
    if (part->delegate != Delegate::kNone && part->format != Format::kBytes) {
      const std::string option = fmt::format("format.{}_delegate", key);
      errors.Reject(option,
                    fmt::format("{}: only format.{} \"bytes\" has a delegate", option, key));
    }
  }
  if (format.expand_json && format.value.format == Format::kRaw) {
    errors.Reject("format.expand_json",
                  "format.expand_json requires format.value \"json\" or \"json_schema\"");
  }
}

}  // namespace

const Section kFormatSection = {kFormatRows, CheckFormat};

}  // namespace walrelay
