#include "encode/column_datum.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/escaping.h"
#include "encode/array_text.h"
#include "encode/column_value.h"
#include "encode/connect_json.h"
#include "encode/geometric_datum.h"
#include "encode/hstore_text.h"
#include "encode/interval_text.h"
#include "encode/java_number.h"
#include "encode/structured_datum.h"
#include "encode/temporal_datum.h"
#include "pgoutput/type_oids.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using pgoutput::TupleValue;

absl::StatusOr<Datum> Integer(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return NotShown(text, "integer");
  }
  return Datum{number};
}

// from_chars() is independent of the locale, and accepts no leading space or plus sign.
template <typename Float>
absl::StatusOr<Datum> FloatingPoint(std::string_view text) {
  constexpr Float kInfinity = std::numeric_limits<Float>::infinity();
  if (text == "NaN") {
    return Datum{std::numeric_limits<Float>::quiet_NaN()};
  }
  if (text == "Infinity" || text == "-Infinity") {
    return Datum{text[0] == '-' ? -kInfinity : kInfinity};
  }
  // Text that is out of range is rejected: Postgres prints no number that the type cannot hold.
  Float number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return NotShown(text, "floating-point number");
  }
  return Datum{number};
}

bool IsSpecialNumber(std::string_view text) {
  return text == "NaN" || text == "Infinity" || text == "-Infinity";
}

// For NaN and the infinities Debezium produces NULL, and fails if the column is NOT NULL.
absl::StatusOr<Datum> NoDecimal(std::string_view text, const ConnectColumnType& shape) {
  return IsSpecialNumber(text) ? NullOr(text, "numeric", shape) : NotShown(text, "numeric");
}

// The number with the declared scale; nullopt if that would change it.
std::optional<std::string_view> AtScale(std::string_view text, int scale, Arena& arena) {
  // Postgres prints all digits of the scale; a default may have been written with fewer or more.
  const size_t point = text.find('.');
  const size_t digits = point == std::string_view::npos ? 0 : text.size() - point - 1;
  const auto declared = static_cast<size_t>(scale);
  if (digits > declared) {
    const std::string_view rest = text.substr(point + 1 + declared);
    const bool zeros = rest.find_first_not_of('0') == std::string_view::npos;
    return zeros ? std::optional(text.substr(0, point + (declared == 0 ? 0 : 1 + declared)))
                 : std::nullopt;
  }
  if (digits == declared) {
    return text;
  }
  std::string padded(text);
  padded += point == std::string_view::npos ? "." : "";
  padded.append(declared - digits, '0');
  return Keep(padded, arena);
}

absl::StatusOr<Datum> DeclaredDecimal(std::string_view text, const ConnectColumnType& shape,
                                      Arena& arena) {
  if (!IsDecimal(text)) {
    return NoDecimal(text, shape);
  }
  const auto scaled = AtScale(text, shape.scale, arena);
  return scaled ? absl::StatusOr<Datum>(Datum{Decimal{*scaled}})
                : NotShown(text, "numeric of the declared scale");
}

// BigDecimal.toPlainString(), and Debezium's names of the special values.
absl::StatusOr<Datum> DecimalText(std::string_view text, const ConnectColumnType& shape,
                                  Arena& arena) {
  if (IsSpecialNumber(text) && !shape.is_array) {
    return Datum{text == "NaN"        ? std::string_view("NAN")
                 : text == "Infinity" ? std::string_view("POSITIVE_INFINITY")
                                      : std::string_view("NEGATIVE_INFINITY")};
  }
  if (!IsDecimal(text)) {
    return NotShown(text, "numeric");
  }
  const auto scaled = shape.scale < 0 ? std::optional(text) : AtScale(text, shape.scale, arena);
  return scaled ? absl::StatusOr<Datum>(Datum{*scaled})
                : NotShown(text, "numeric of the declared scale");
}

// The nearest double; a number beyond its range is infinite, or zero.
absl::StatusOr<Datum> DecimalDouble(std::string_view text, const ConnectColumnType& shape) {
  if (IsSpecialNumber(text) && !shape.is_array) {
    return FloatingPoint<double>(text);
  }
  if (!IsDecimal(text)) {
    return NotShown(text, "numeric");
  }
  double number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec ==
      std::errc::result_out_of_range) {
    const bool large = text.substr(0, text.find('.')).find_first_of("123456789") != text.npos;
    number = std::copysign(large ? std::numeric_limits<double>::infinity() : 0.0,
                           text[0] == '-' ? -1.0 : 1.0);
  }
  return Datum{number};
}

// A struct of scale and value, without trailing zeros in the fraction.
absl::StatusOr<Datum> VariableDecimal(std::string_view text, const ConnectColumnType& shape,
                                      Arena& arena) {
  if (!IsDecimal(text)) {
    return NoDecimal(text, shape);
  }
  const size_t point = text.find('.');
  int64_t scale = 0;
  // Zeros of the integer part count: only a text with a point loses trailing zeros.
  if (point != std::string_view::npos) {
    text = text.substr(0, text.find_last_not_of('0') + 1);
    scale = static_cast<int64_t>(text.size() - point - 1);
  }
  return Datum{DatumList{Datum{scale}, Datum{Bytes{Keep(UnscaledBytes(text), arena)}}}};
}

// boolout() prints exactly these letters.
absl::StatusOr<Datum> Boolean(std::string_view text) {
  if (text != "t" && text != "f") {
    return NotShown(text, "boolean");
  }
  return Datum{text == "t"};
}

// The bytes of a bytea, or the text of a type that is opaque.
absl::StatusOr<std::string_view> BytesOf(std::string_view text, const ConnectColumnType& shape,
                                         Arena& arena) {
  if (shape.is_opaque) {
    return text;
  }
  WR_ASSIGN_OR_RETURN(const OptionalBytes bytes,
                      ColumnBytes({TupleValue::Kind::kText, text}, pgoutput::kByteaOid, arena));
  return *bytes;
}

Datum DatumOfBytes(std::string_view bytes, ColumnForm form, Arena& arena) {
  const absl::string_view input(bytes.data(), bytes.size());
  switch (form) {
    case ColumnForm::kBase64:
      return {Keep(absl::Base64Escape(input), arena)};
    case ColumnForm::kBase64UrlSafe: {
      // With padding, as java.util.Base64.getUrlEncoder(); Abseil's variant has none.
      std::string text = absl::Base64Escape(input);
      std::replace(text.begin(), text.end(), '+', '-');
      std::replace(text.begin(), text.end(), '/', '_');
      return {Keep(text, arena)};
    }
    case ColumnForm::kHex:
      return {Keep(absl::BytesToHexString(input), arena)};
    default:
      return {Bytes{bytes}};
  }
}

absl::StatusOr<Datum> Binary(std::string_view text, const ConnectColumnType& shape, Arena& arena) {
  WR_ASSIGN_OR_RETURN(const std::string_view bytes, BytesOf(text, shape, arena));
  return DatumOfBytes(bytes, shape.form, arena);
}

absl::StatusOr<Datum> IntervalDatum(std::string_view text, ColumnForm form, Arena& arena) {
  const auto interval = ParseInterval(text);
  if (!interval) {
    return NotShown(text, "interval");
  }
  return form == ColumnForm::kIntervalMicros ? Datum{IntervalMicros(*interval)}
                                             : Datum{Keep(IntervalIsoText(*interval), arena)};
}

bool AreBits(std::string_view text) {
  return text.find_first_not_of("01") == std::string_view::npos;
}

// Debezium omits a varying bit string of no bits.
absl::StatusOr<Datum> Bit(std::string_view text, const ConnectColumnType& shape) {
  if (text.empty() || !AreBits(text)) {
    return text.empty() ? NullOr(text, "bit", shape) : NotShown(text, "bit");
  }
  return Datum{text.find('1') != std::string_view::npos};
}

// As java.util.BitSet.toByteArray(): the last bit of the text is the lowest bit of the first byte,
// and there are no bytes beyond the highest bit that is set.
absl::StatusOr<Datum> Bits(std::string_view text, Arena& arena) {
  if (!AreBits(text)) {
    return NotShown(text, "bit string");
  }
  const size_t first = std::min(text.find('1'), text.size());
  const size_t bits = text.size() - first;
  const size_t size = (bits + 7) / 8;
  char* const out = arena.Allocate(size);
  std::fill(out, out + size, '\0');
  for (size_t i = 0; i < bits; ++i) {
    if (text[text.size() - 1 - i] == '1') {
      out[i / 8] = static_cast<char>(out[i / 8] | 1 << i % 8);
    }
  }
  return Datum{Bytes{{out, size}}};
}

// The text of a JSON object, as Jackson writes it to a String.
std::string HstoreJson(const std::vector<HstorePair>& pairs) {
  std::string json = "{";
  for (const auto& [key, value] : pairs) {
    json += json.size() == 1 ? "" : ",";
    AppendJacksonText(key, json);
    json += ':';
    if (value) {
      AppendJacksonText(*value, json);
    } else {
      json += "null";
    }
  }
  return json + "}";
}

absl::StatusOr<Datum> Hstore(std::string_view text, ColumnForm form, Arena& arena) {
  const auto pairs = ParseHstore(text, arena);
  if (!pairs) {
    return NotShown(text, "hstore");
  }
  if (form == ColumnForm::kHstoreText) {
    return Datum{Keep(HstoreJson(*pairs), arena)};
  }
  DatumList members;
  members.reserve(pairs->size() * 2);
  for (const auto& [key, value] : *pairs) {
    members.emplace_back().value = key;
    Datum& member = members.emplace_back();
    if (value) {
      member.value = *value;
    }
  }
  return Datum{std::move(members)};
}

// One value, or one element of an array: both have the same text.
absl::StatusOr<Datum> Scalar(std::string_view text, const ConnectColumnType& shape, Arena& arena) {
  switch (shape.form) {
    case ColumnForm::kText:
      return Datum{text};
    case ColumnForm::kBoolean:
      return Boolean(text);
    case ColumnForm::kInteger:
      return Integer(text);
    case ColumnForm::kFloat32:
      return FloatingPoint<float>(text);
    case ColumnForm::kFloat64:
      return FloatingPoint<double>(text);
    case ColumnForm::kDecimal:
      return DeclaredDecimal(text, shape, arena);
    case ColumnForm::kVariableDecimal:
      return VariableDecimal(text, shape, arena);
    case ColumnForm::kDecimalDouble:
      return DecimalDouble(text, shape);
    case ColumnForm::kDecimalText:
      return DecimalText(text, shape, arena);
    case ColumnForm::kBytes:
    case ColumnForm::kBase64:
    case ColumnForm::kBase64UrlSafe:
    case ColumnForm::kHex:
      return Binary(text, shape, arena);
    case ColumnForm::kIntervalMicros:
    case ColumnForm::kIntervalText:
      return IntervalDatum(text, shape.form, arena);
    case ColumnForm::kBit:
      return Bit(text, shape);
    case ColumnForm::kBits:
      return Bits(text, arena);
    case ColumnForm::kHstoreText:
    case ColumnForm::kHstoreMap:
      return Hstore(text, shape.form, arena);
    case ColumnForm::kStructuredDate:
    case ColumnForm::kStructuredTime:
    case ColumnForm::kStructuredTimeWithZone:
    case ColumnForm::kStructuredTimestamp:
    case ColumnForm::kStructuredTimestampWithZone:
    case ColumnForm::kStructuredInterval:
      return StructuredDatum(text, shape);
    case ColumnForm::kPoint:
    case ColumnForm::kLineSegment:
    case ColumnForm::kPath:
    case ColumnForm::kBox:
    case ColumnForm::kPolygon:
    case ColumnForm::kLine:
    case ColumnForm::kCircle:
      return GeometricDatum(text, shape.form, arena);
    default:
      return TemporalDatum(text, shape, arena);
  }
}

}  // namespace

absl::StatusOr<Datum> DatumOfText(std::string_view text, const ConnectColumnType& shape,
                                  Arena& arena) {
  if (!shape.is_array) {
    return Scalar(text, shape, arena);
  }
  const auto elements = ParseArray(text, arena);
  if (!elements) {
    return NotShown(text, "array of one dimension");
  }
  DatumList list;
  // The number of elements is row data; each takes at least two bytes of the row, which is limited.
  list.reserve(elements->size());
  // Nested arrays were rejected by ParseArray(): Connect has arrays of arrays, Debezium does not
  // make them from Postgres.
  for (const auto& element : *elements) {
    if (!element) {
      list.push_back({Null()});
      continue;
    }
    WR_ASSIGN_OR_RETURN(Datum datum, Scalar(*element, shape, arena));
    list.push_back(std::move(datum));
  }
  return Datum{std::move(list)};
}

absl::StatusOr<Datum> ColumnDatum(const TupleValue& value, const ConnectColumnType& shape,
                                  Arena& arena) {
  if (value.is_null()) {
    return Datum{Null()};
  }
  // bytea in binary form is the value itself; all other binary forms have a text of the same
  // meaning.
  if (value.kind == TupleValue::Kind::kBinary && !shape.is_array &&
      shape.type_oid == pgoutput::kByteaOid) {
    return DatumOfBytes(value.bytes, shape.form, arena);
  }
  if (value.kind == TupleValue::Kind::kText) {
    return DatumOfText(value.bytes, shape, arena);
  }
  // Binary form: convert it to its text first.
  WR_ASSIGN_OR_RETURN(const OptionalBytes text,
                      ColumnBytes(value, shape.is_array ? 0 : shape.type_oid, arena));
  return DatumOfText(*text, shape, arena);
}

}  // namespace walrelay
