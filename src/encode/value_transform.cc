#include "encode/value_transform.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "encode/temporal_datum.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config/outbox_table.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using TransformKind = ColumnTransform::Kind;

// The length of a column without a declared one.
constexpr int64_t kNoDeclaredLength = std::numeric_limits<int32_t>::max();

// The digits behind the seconds, with their point. PgJDBC counts two for one.
int64_t FractionLength(int32_t digits) {
  switch (digits) {
    case -1:
      return 7;
    case 0:
      return 0;
    case 1:
      return 3;
    default:
      return digits + 1;
  }
}

int64_t NumericPrecision(int32_t modifier) {
  // numeric(p,s): see ScaleOf() in connect_column_type.cc. Without precision: all digits that
  // Postgres can store.
  return modifier < 0 ? 131'089 : (modifier - 4) >> 16 & 0xFFFF;
}

// TypeInfoCache.getPrecision(), and getDisplaySize() where that has no number. An array has the
// length of its elements.
int64_t LengthOf(uint32_t type_oid, int32_t modifier) {
  constexpr int32_t kHeader = 4;  // VARHDRSZ, which the modifier includes
  constexpr int64_t kDate = 13;
  constexpr int64_t kClock = 8;
  constexpr int64_t kZone = 6;
  switch (type_oid) {
    case pgoutput::kBoolOid:
    case pgoutput::kCharOid:
      return 1;
    case pgoutput::kInt2Oid:
      return 5;
    case pgoutput::kInt4Oid:
    case pgoutput::kOidOid:
      return 10;
    case pgoutput::kInt8Oid:
      return 19;
    case pgoutput::kFloat4Oid:
      return 8;
    case pgoutput::kFloat8Oid:
      return 17;
    case pgoutput::kNumericOid:
      return NumericPrecision(modifier);
    case pgoutput::kBpcharOid:
    case pgoutput::kVarcharOid:
      return modifier < 0 ? kNoDeclaredLength : modifier - kHeader;
    case pgoutput::kBitOid:
    case pgoutput::kVarbitOid:
      return modifier < 0 ? kNoDeclaredLength : modifier;
    case pgoutput::kDateOid:
      return kDate;
    case pgoutput::kTimeOid:
      return kClock + FractionLength(modifier);
    case pgoutput::kTimetzOid:
      return kClock + FractionLength(modifier) + kZone;
    case pgoutput::kTimestampOid:
      return kDate + 1 + kClock + FractionLength(modifier);
    case pgoutput::kTimestamptzOid:
      return kDate + 1 + kClock + FractionLength(modifier) + kZone;
    case pgoutput::kIntervalOid:
      return 49;
    default:
      return kNoDeclaredLength;
  }
}

// The types that JDBC calls CHAR and VARCHAR.
bool IsCharacterType(const ColumnTraits& column) {
  switch (column.type_oid) {
    case pgoutput::kTextOid:
    case pgoutput::kVarcharOid:
    case pgoutput::kBpcharOid:
    case pgoutput::kNameOid:
    case pgoutput::kCharOid:
      return true;
    default:
      return !column.enum_labels.empty() && pgoutput::ElementOid(column.type_oid) == 0;
  }
}

// The number of bytes of the first `units` UTF-16 code units; whether the last is half of a pair.
struct TextCut {
  size_t bytes = 0;
  bool splits_pair = false;
};

TextCut CutAt(std::string_view text, int64_t units) {
  size_t i = 0;
  while (i < text.size() && units > 0) {
    // A byte that is not UTF-8, as in a SQL_ASCII database, counts as one.
    const size_t size = std::max<size_t>(FirstCharacter(text.substr(i)).length, 1);
    if (size == 4 && units == 1) {
      return {i, true};
    }
    units -= size == 4 ? 2 : 1;
    i += size;
  }
  return {i, false};
}

// String.substring(0, units).
std::string_view Truncated(std::string_view text, int64_t units, Arena& arena) {
  // No text has more code units than bytes.
  if (static_cast<int64_t>(text.size()) <= units) {
    return text;
  }
  const auto [bytes, splits_pair] = CutAt(text, units);
  if (!splits_pair) {
    return text.substr(0, bytes);
  }
  const uint32_t point = FirstCharacter(text.substr(bytes)).point;
  char* const out = arena.Allocate(bytes + 4);
  text.copy(out, bytes);
  const char* end = PutUtf8(0xD800 + ((point - 0x10000) >> 10), out + bytes);
  return {out, static_cast<size_t>(end - out)};
}

// "Modified UTF-8": each half of a surrogate pair has three bytes. Returns the end of what is
// written to `out`, which has room for half as much again as `text`.
// Source: java.io.DataInput.
char* PutModifiedUtf8(std::string_view text, char* out) {
  while (!text.empty()) {
    const Utf8Character character = FirstCharacter(text);
    const size_t size = std::max<size_t>(character.length, 1);
    if (size == 4) {
      out = PutUtf8(0xD800 + ((character.point - 0x10000) >> 10), out);
      out = PutUtf8(0xDC00 + ((character.point - 0x10000) & 0x3FF), out);
    } else {
      out += text.copy(out, size);
    }
    text.remove_prefix(size);
  }
  return out;
}

// The bytes that an ObjectOutputStream writes for one String, in two parts: the header with the
// length, and the text.
// Source: Java Object Serialization Specification, 6.4.2.
std::pair<std::string_view, std::string_view> Serialized(std::string_view text, Arena& arena) {
  constexpr std::string_view kStream("\xAC\xED\x00\x05", 4);  // magic number and version
  constexpr char kString = 0x74;
  constexpr char kLongString = 0x7C;
  char* const bytes = arena.Allocate(text.size() + text.size() / 2);
  const auto size = static_cast<size_t>(PutModifiedUtf8(text, bytes) - bytes);
  const bool is_long = size > 0xFFFF;
  char* const header = arena.Allocate(kStream.size() + 1 + sizeof(uint64_t));
  char* end = header + kStream.copy(header, kStream.size());
  *end++ = is_long ? kLongString : kString;
  for (int shift = is_long ? 56 : 8; shift >= 0; shift -= 8) {
    *end++ = static_cast<char>(size >> shift & 0xFF);
  }
  return {{header, static_cast<size_t>(end - header)}, {bytes, size}};
}

// Text whose last character may be a lone surrogate, as Java encodes it.
std::string_view Encodable(std::string_view text, Arena& arena) {
  const size_t last = text.size() < 3 ? text.size() : text.size() - 3;
  const bool lone = last + 3 == text.size() && text[last] == '\xED' &&
                    static_cast<unsigned char>(text[last + 1]) >= 0xA0;
  if (!lone) {
    return text;
  }
  char* const out = arena.Allocate(last + 1);
  text.copy(out, last);
  out[last] = '?';
  return {out, last + 1};
}

}  // namespace

ValueTransform::ValueTransform(const ColumnTransform& rule, const ColumnTraits& column,
                               const ConnectColumnType* shape)
    : rule_(&rule) {
  const uint32_t element = pgoutput::ElementOid(column.type_oid);
  column_length_ = LengthOf(element != 0 ? element : column.type_oid, column.type_modifier);
  if (rule.kind != TransformKind::kTruncate) {
    target_ = IsCharacterType(column) ? Target::kText : Target::kNothing;
  } else if (shape != nullptr && shape->schema->type == SchemaType::kString) {
    target_ = Target::kText;
  } else if (shape != nullptr && shape->form == ColumnForm::kBytes && !shape->is_array) {
    target_ = Target::kBytes;
  }
  if (rule.kind == TransformKind::kMask) {
    mask_.assign(static_cast<size_t>(rule.length), '*');
  }
  if (rule.kind == TransformKind::kHash || rule.kind == TransformKind::kHashSerialized) {
    digest_ = std::make_unique<Digest>(rule.algorithm);
  }
}

std::optional<std::pair<std::string, std::string>> ValueTransform::SchemaParameter() const {
  if (rule_->kind != TransformKind::kTruncate) {
    return std::pair("masked", "true");
  }
  return can_truncate() ? std::optional(std::pair<std::string, std::string>(
                              "truncateLength", fmt::format("{}", rule_->length)))
                        : std::nullopt;
}

absl::StatusOr<std::string_view> ValueTransform::Text(std::string_view text, Arena& arena) const {
  switch (rule_->kind) {
    case TransformKind::kTruncate:
      return can_truncate() ? Truncated(text, rule_->length, arena) : text;
    case TransformKind::kMask:
      return mask_;
    case TransformKind::kHash:
    case TransformKind::kHashSerialized:
      break;
  }
  const std::string& salt = rule_->salt.Reveal();
  const auto [header, value] = rule_->kind == TransformKind::kHash
                                   ? std::pair(std::string_view(), text)
                                   : Serialized(text, arena);
  WR_ASSIGN_OR_RETURN(const std::string_view digest, digest_->Hex({salt, header, value}));
  return Keep(digest.substr(0, static_cast<size_t>(column_length_)), arena);
}

absl::StatusOr<Datum> ValueTransform::Apply(Datum datum, Arena& arena) const {
  if (target_ == Target::kNothing) {
    return datum;
  }
  if (rule_->kind == TransformKind::kMask) {
    return Datum{std::string_view(mask_)};  // also for NULL
  }
  if (const auto* text = std::get_if<std::string_view>(&datum.value)) {
    WR_ASSIGN_OR_RETURN(const std::string_view result, Text(*text, arena));
    return Datum{result};
  }
  if (const auto* bytes = std::get_if<Bytes>(&datum.value); bytes != nullptr && can_truncate()) {
    return Datum{Bytes{bytes->bytes.substr(0, static_cast<size_t>(rule_->length))}};
  }
  return datum;
}

absl::StatusOr<OptionalBytes> ValueTransform::ApplyToBytes(OptionalBytes bytes,
                                                           Arena& arena) const {
  if (target_ == Target::kNothing) {
    return bytes;
  }
  if (rule_->kind == TransformKind::kMask) {
    return mask_;
  }
  if (!bytes) {
    return bytes;
  }
  if (target_ == Target::kBytes) {
    return can_truncate() ? bytes->substr(0, static_cast<size_t>(rule_->length)) : bytes;
  }
  WR_ASSIGN_OR_RETURN(const std::string_view text, Text(*bytes, arena));
  return Encodable(text, arena);
}

}  // namespace walrelay
