// [format]: how keys, values and headers become bytes.
// Filled and validated by src/config; docs/configuration.md describes each key.
#pragma once

#include <cstdint>
#include <string>

namespace walrelay {

// How a part of a record is converted to bytes. kRaw: the column's bytes unchanged. The others
// match Kafka Connect's converters.
enum class Format : uint8_t { kRaw, kString, kJson, kJsonSchema, kBytes };
// How kBytes converts a column that is not bytea, like ByteArrayConverter's delegate in Debezium.
enum class Delegate : uint8_t { kNone, kString, kJson, kJsonSchema };
// How headers are written. kSimple: as Connect's SimpleHeaderConverter.
enum class HeaderFormat : uint8_t { kRaw, kSimple };
// How JSON members that are null, and arrays without elements, are handled: their type is unknown.
enum class NullMembers : uint8_t { kIgnore, kOptionalBytes };
enum class EmptyArrays : uint8_t { kIgnore, kOptionalString };

// The format of a key or a value.
struct PartFormat {
  Format format = Format::kRaw;
  Delegate delegate = Delegate::kNone;  // of kBytes, for columns that are not bytea

  bool operator==(const PartFormat&) const = default;
};

// How values of some types are represented in Connect's formats.
// Debezium's decimal.handling.mode, time.precision.mode, binary.handling.mode,
// interval.handling.mode, hstore.handling.mode and include.unknown.datatypes, with their defaults.
enum class DecimalMode : uint8_t { kPrecise, kDouble, kString };
enum class TimeMode : uint8_t {
  kAdaptive,
  kAdaptiveTimeMicroseconds,
  kConnect,
  kIsoString,
  kMicroseconds,
  kNanoseconds,
  kStructured
};
enum class BinaryMode : uint8_t { kBytes, kBase64, kBase64UrlSafe, kHex };
enum class IntervalMode : uint8_t { kNumeric, kString };
enum class HstoreMode : uint8_t { kJson, kMap };
enum class UnknownTypes : uint8_t { kReject, kBytes };
// The version whose bytes are published where two versions differ.
enum class DebeziumVersion : uint8_t { k3_7, k3_6 };

struct TypeModes {
  DecimalMode decimal = DecimalMode::kPrecise;
  TimeMode time = TimeMode::kAdaptive;
  BinaryMode binary = BinaryMode::kBytes;
  IntervalMode interval = IntervalMode::kNumeric;
  HstoreMode hstore = HstoreMode::kJson;
  UnknownTypes unknown = UnknownTypes::kReject;
  DebeziumVersion version = DebeziumVersion::k3_7;

  bool operator==(const TypeModes&) const = default;
};

// How a row is converted to bytes.
// Debezium's and Connect's names for these settings: key.converter, value.converter,
// header.converter, table.expand.json.payload, and the connector's topic.prefix.
struct FormatConfig {
  PartFormat key;
  PartFormat value;
  TypeModes types;
  HeaderFormat headers = HeaderFormat::kRaw;
  bool expand_json = false;
  NullMembers json_nulls = NullMembers::kIgnore;
  EmptyArrays json_empty_arrays = EmptyArrays::kIgnore;
  NullMembers message_nulls = NullMembers::kOptionalBytes;
  std::string schema_prefix;  // topic.prefix: the prefix of envelopes' schema names
  bool context_headers = false;

  bool operator==(const FormatConfig&) const = default;
};

}  // namespace walrelay
