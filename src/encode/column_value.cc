#include "encode/column_value.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <limits>

#include "base/endian.h"
#include "base/text.h"
#include "encode/timestamp_text.h"
#include "pgoutput/type_oids.h"
#include "pgoutput/wire_types.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using pgoutput::TupleValue;

constexpr char kHexDigits[] = "0123456789abcdef";

// Only the size: the bytes themselves are row data of any kind.
absl::Status Malformed(std::string_view type, std::string_view bytes) {
  return Error(ErrorCode::kValueInvalid,
               fmt::format("{} bytes are not a valid {}", bytes.size(), type));
}

absl::Status WrongType(std::string_view purpose, uint32_t type_oid) {
  return Error(ErrorCode::kColumnType,
               fmt::format("type {} cannot be used as a {}", type_oid, purpose));
}

int HexValue(char digit) {
  if (digit >= '0' && digit <= '9') {
    return digit - '0';
  }
  const char lower = static_cast<char>(digit | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// "\x48656c6c6f", as printed with bytea_output = hex.
// The form depends on bytea_output, which the session sets to hex.
absl::StatusOr<OptionalBytes> FromHex(std::string_view text, Arena& arena) {
  if (!text.starts_with("\\x") || text.size() % 2 != 0) {
    return Malformed("bytea in hex form", text);
  }
  text.remove_prefix(2);
  const size_t size = text.size() / 2;
  char* out = arena.Allocate(size);
  for (size_t i = 0; i < size; ++i) {
    const int high = HexValue(text[2 * i]);
    const int low = HexValue(text[2 * i + 1]);
    if (high < 0 || low < 0) {
      return Malformed("bytea in hex form", text);
    }
    out[i] = static_cast<char>(high << 4 | low);
  }
  return std::string_view(out, size);
}

// As Postgres prints it: lower case, 8-4-4-4-12.
absl::StatusOr<OptionalBytes> UuidText(std::string_view bytes, Arena& arena) {
  if (bytes.size() != 16) {
    return Malformed("uuid", bytes);
  }
  char* out = arena.Allocate(36);
  char* to = out;
  for (size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      *to++ = '-';
    }
    const auto byte = static_cast<unsigned char>(bytes[i]);
    *to++ = kHexDigits[byte >> 4];
    *to++ = kHexDigits[byte & 0xF];
  }
  return std::string_view(out, 36);
}

// The size decides whether the bytes are of this type.
template <typename Int>
std::optional<int64_t> BinaryInt(std::string_view bytes) {
  if (bytes.size() != sizeof(Int)) {
    return std::nullopt;
  }
  return LoadBigEndian<Int>(bytes.data());
}

std::optional<int64_t> BinaryIntOfType(std::string_view bytes, uint32_t type_oid) {
  switch (type_oid) {
    case pgoutput::kInt2Oid:
      return BinaryInt<int16_t>(bytes);
    case pgoutput::kInt4Oid:
      return BinaryInt<int32_t>(bytes);
    default:
      return BinaryInt<int64_t>(bytes);
  }
}

absl::StatusOr<OptionalBytes> IntText(std::string_view bytes, uint32_t type_oid, Arena& arena) {
  const auto value = BinaryIntOfType(bytes, type_oid);
  if (!value) {
    return Malformed("integer", bytes);
  }
  // The sign, and one digit more than an int64 always has.
  constexpr size_t kDigits = std::numeric_limits<int64_t>::digits10 + 2;
  char* out = arena.Allocate(kDigits);
  const auto result = std::to_chars(out, out + kDigits, *value);
  return std::string_view(out, static_cast<size_t>(result.ptr - out));
}

// Only types whose text can be made without knowing the server's settings. For all others the
// server must send text.
absl::StatusOr<OptionalBytes> FromBinary(std::string_view bytes, uint32_t type_oid, Arena& arena) {
  switch (type_oid) {
    case pgoutput::kByteaOid:
    case pgoutput::kTextOid:
    case pgoutput::kVarcharOid:
    case pgoutput::kBpcharOid:
    case pgoutput::kNameOid:
    case pgoutput::kJsonOid:
      return bytes;
    case pgoutput::kJsonbOid:
      // One version byte, then the text.
      if (bytes.empty() || bytes[0] != 1) {
        return Malformed("jsonb of version 1", bytes);
      }
      return bytes.substr(1);
    case pgoutput::kUuidOid:
      return UuidText(bytes, arena);
    case pgoutput::kInt2Oid:
    case pgoutput::kInt4Oid:
    case pgoutput::kInt8Oid:
      return IntText(bytes, type_oid, arena);
    case pgoutput::kBoolOid:
      if (bytes.size() != 1) {
        return Malformed("bool", bytes);
      }
      // boolout() prints "t" and "f".
      return bytes[0] != 0 ? std::string_view("t") : std::string_view("f");
    default:
      return Error(ErrorCode::kColumnType,
                   fmt::format("type {} is not supported in binary form", type_oid),
                   "Set source.binary = false: Postgres then sends every type as text.");
  }
}

std::optional<int64_t> ParseInt(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<int64_t> StoredInteger(const TupleValue& value, uint32_t type_oid) {
  return value.kind == TupleValue::Kind::kBinary ? BinaryIntOfType(value.bytes, type_oid)
                                                 : ParseInt(value.bytes);
}

// In binary form, infinity is the largest and -infinity the smallest int64.
// int8: milliseconds since 1970. timestamp and timestamptz: microseconds since 2000, in UTC, in
// binary form.
std::optional<WallTime> TimeOf(const TupleValue& value, uint32_t type_oid) {
  if (type_oid == pgoutput::kInt8Oid) {
    const auto millis = StoredInteger(value, type_oid);
    // The column holds milliseconds, WallTime microseconds: the product must not overflow.
    constexpr int64_t kMax = std::numeric_limits<int64_t>::max() / 1000;
    const bool fits = millis && *millis <= kMax && *millis >= -kMax;
    return fits ? std::optional(WallTime(Micros(*millis * 1000))) : std::nullopt;
  }
  if (value.kind == TupleValue::Kind::kText) {
    return ParseTimestamp(value.bytes);
  }
  const auto micros = BinaryInt<int64_t>(value.bytes);
  // The epoch of Postgres is 2000, 30 years after that of WallTime: the sum must not overflow.
  constexpr int64_t kLatest = (WallTime::max() - pgoutput::kPostgresEpoch).count();
  if (!micros || *micros > kLatest || *micros == std::numeric_limits<int64_t>::min()) {
    return std::nullopt;
  }
  return pgoutput::FromPostgresTime(*micros);
}

}  // namespace

absl::StatusOr<OptionalBytes> ColumnBytes(const TupleValue& value, uint32_t type_oid,
                                          Arena& arena) {
  switch (value.kind) {
    case TupleValue::Kind::kNull:
      return std::nullopt;
    case TupleValue::Kind::kText:
      return type_oid == pgoutput::kByteaOid ? FromHex(value.bytes, arena) : value.bytes;
    case TupleValue::Kind::kBinary:
      return FromBinary(value.bytes, type_oid, arena);
    case TupleValue::Kind::kUnchangedToast:
      // Only an UPDATE's new row may contain it, and the decoder rejects it elsewhere.
      break;
  }
  return Error(ErrorCode::kProtocolViolation, "the server did not send a value of the row");
}

bool IsPartitionType(uint32_t type_oid) {
  return type_oid == pgoutput::kInt2Oid || type_oid == pgoutput::kInt4Oid ||
         type_oid == pgoutput::kInt8Oid;
}

bool IsTimestampType(uint32_t type_oid) {
  return type_oid == pgoutput::kTimestamptzOid || type_oid == pgoutput::kTimestampOid ||
         type_oid == pgoutput::kInt8Oid;
}

absl::StatusOr<std::optional<int32_t>> ColumnPartition(const TupleValue& value, uint32_t type_oid) {
  if (!IsPartitionType(type_oid)) {
    return WrongType("partition", type_oid);
  }
  if (value.is_null()) {
    return std::nullopt;
  }
  // The topic's number of partitions is not known here; the producer checks it.
  const auto number = StoredInteger(value, type_oid);
  // Kafka's partition numbers are non-negative int32.
  if (!number || *number < 0 || *number > std::numeric_limits<int32_t>::max()) {
    return Error(ErrorCode::kValueInvalid,
                 "invalid partition; expected a number from 0 to 2147483647");
  }
  return static_cast<int32_t>(*number);
}

absl::StatusOr<std::optional<WallTime>> ColumnTimestamp(const TupleValue& value,
                                                        uint32_t type_oid) {
  if (!IsTimestampType(type_oid)) {
    return WrongType("timestamp", type_oid);
  }
  if (value.is_null()) {
    return std::nullopt;
  }
  const auto time = TimeOf(value, type_oid);
  // Kafka has no timestamps before 1970 (-1 means "none").
  if (!time || time->time_since_epoch().count() < 0) {
    return Error(ErrorCode::kValueInvalid,
                 fmt::format("\"{}\" cannot be a record's timestamp", Printable(value.bytes, 40)));
  }
  return *time;
}

}  // namespace walrelay
