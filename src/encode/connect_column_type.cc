#include "encode/connect_column_type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/text.h"
#include "encode/column_datum.h"
#include "encode/default_value.h"
#include "encode/geometric_datum.h"
#include "encode/temporal_column_type.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config/format.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// The stored modifier exceeds the declared precision by this: VARHDRSZ.
constexpr int32_t kModifierOffset = 4;

struct Scale {
  int precision = 0;
  int scale = 0;
};

// Decodes the modifier of numeric(p,s); a negative scale uses all eleven bits.
// From numeric.c, make_numeric_typmod(): precision in the upper 16 bits, scale in the lower 11.
Scale ScaleOf(int32_t modifier) {
  const int32_t packed = modifier - kModifierOffset;
  return {packed >> 16 & 0xFFFF, packed & 0x7FF};
}

SchemaPtr Shared(Schema schema) {
  return std::make_shared<const Schema>(std::move(schema));
}

// NUMERIC without precision has no fixed scale: each value carries its own.
void SetPreciseDecimal(int32_t modifier, ConnectColumnType& out, Schema& schema) {
  if (out.scale < 0) {
    out.form = ColumnForm::kVariableDecimal;
    schema = NamedSchema(SchemaType::kStruct, "io.debezium.data.VariableScaleDecimal");
    schema.doc = "Variable scaled decimal";
    schema.fields = {{"scale", Shared({.type = SchemaType::kInt32})},
                     {"value", Shared({.type = SchemaType::kBytes})}};
    return;
  }
  out.form = ColumnForm::kDecimal;
  schema = NamedSchema(SchemaType::kBytes, "org.apache.kafka.connect.data.Decimal");
  schema.parameters = {
      {"scale", fmt::format("{}", out.scale)},
      {"connect.decimal.precision", fmt::format("{}", ScaleOf(modifier).precision)}};
}

void SetDecimal(int32_t modifier, DecimalMode mode, ConnectColumnType& out, Schema& schema) {
  // -1: declared without precision.
  out.scale = modifier < kModifierOffset ? -1 : ScaleOf(modifier).scale;
  switch (mode) {
    case DecimalMode::kPrecise:
      SetPreciseDecimal(modifier, out, schema);
      break;
    case DecimalMode::kDouble:
      out.form = ColumnForm::kDecimalDouble;
      schema.type = SchemaType::kFloat64;
      break;
    case DecimalMode::kString:
      out.form = ColumnForm::kDecimalText;
      break;
  }
}

void SetBinary(BinaryMode mode, ConnectColumnType& out, Schema& schema) {
  switch (mode) {
    case BinaryMode::kBytes:
      out.form = ColumnForm::kBytes;
      schema.type = SchemaType::kBytes;
      break;
    case BinaryMode::kBase64:
      out.form = ColumnForm::kBase64;
      break;
    case BinaryMode::kBase64UrlSafe:
      out.form = ColumnForm::kBase64UrlSafe;
      break;
    case BinaryMode::kHex:
      out.form = ColumnForm::kHex;
      break;
  }
}

// Debezium 3.6 knows only the point.
bool SetGeometric(uint32_t type_oid, DebeziumVersion version, ConnectColumnType& out,
                  Schema& schema) {
  constexpr std::pair<uint32_t, ColumnForm> kForms[] = {
      {pgoutput::kPointOid, ColumnForm::kPoint},
      {pgoutput::kLineSegmentOid, ColumnForm::kLineSegment},
      {pgoutput::kPathOid, ColumnForm::kPath},
      {pgoutput::kBoxOid, ColumnForm::kBox},
      {pgoutput::kPolygonOid, ColumnForm::kPolygon},
      {pgoutput::kLineOid, ColumnForm::kLine},
      {pgoutput::kCircleOid, ColumnForm::kCircle}};
  for (const auto& [oid, form] : kForms) {
    if (oid == type_oid && (version != DebeziumVersion::k3_6 || form == ColumnForm::kPoint)) {
      out.form = form;
      schema = GeometricSchema(form);
      return true;
    }
  }
  return false;
}

// One bit is a boolean, several are bytes. Only bit varying may have no length.
bool SetBits(uint32_t type_oid, int32_t length, ConnectColumnType& out, Schema& schema) {
  if (type_oid != pgoutput::kBitOid && type_oid != pgoutput::kVarbitOid) {
    return false;
  }
  if (length == 1) {
    out.form = ColumnForm::kBit;
    schema.type = SchemaType::kBoolean;
    return true;
  }
  out.form = ColumnForm::kBits;
  schema = NamedSchema(SchemaType::kBytes, "io.debezium.data.Bits");
  constexpr int32_t kUnlimited = std::numeric_limits<int32_t>::max();
  schema.parameters = {{"length", fmt::format("{}", length < 0 ? kUnlimited : length)}};
  return true;
}

void SetHstore(HstoreMode mode, ConnectColumnType& out, Schema& schema) {
  if (mode == HstoreMode::kJson) {
    out.form = ColumnForm::kHstoreText;
    schema = NamedSchema(SchemaType::kString, "io.debezium.data.Json");
    return;
  }
  out.form = ColumnForm::kHstoreMap;
  schema.type = SchemaType::kMap;
  schema.keys = Shared({.type = SchemaType::kString});
  schema.items = Shared({.type = SchemaType::kString, .optional = true});
}

// Types of extensions: their OIDs differ from database to database.
bool SetByName(std::string_view name, const TypeModes& modes, ConnectColumnType& out,
               Schema& schema) {
  if (name == "hstore") {
    SetHstore(modes.hstore, out, schema);
    return true;
  }
  if (name == "ltree") {
    schema = NamedSchema(SchemaType::kString, "io.debezium.data.Ltree");
    return true;
  }
  return name == "citext" || name == "isbn";
}

// Types that Debezium represents in a way that walrelay does not, or whose text differs in the
// sessions of both (reg* types depend on the search path).
bool IsKnownToDebezium(std::string_view name) {
  constexpr std::string_view kNames[] = {"money",  "point",   "box",       "circle",   "line",
                                         "lseg",   "path",    "polygon",   "geometry", "geography",
                                         "vector", "halfvec", "sparsevec", ""};
  return name.starts_with("reg") ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Text as bytes, for a type of which Debezium knows nothing.
bool SetUnknown(std::string_view name, const TypeModes& modes, ConnectColumnType& out,
                Schema& schema) {
  if (modes.unknown == UnknownTypes::kReject || IsKnownToDebezium(name)) {
    return false;
  }
  out.is_opaque = true;
  SetBinary(modes.binary, out, schema);
  return true;
}

// Text without a logical type for everything that Debezium shows as Postgres prints it.
bool SetText(uint32_t type_oid, Schema& schema) {
  switch (type_oid) {
    case pgoutput::kUuidOid:
      schema = NamedSchema(SchemaType::kString, "io.debezium.data.Uuid");
      return true;
    case pgoutput::kJsonOid:
    case pgoutput::kJsonbOid:
      schema = NamedSchema(SchemaType::kString, "io.debezium.data.Json");
      return true;
    case pgoutput::kXmlOid:
      schema = NamedSchema(SchemaType::kString, "io.debezium.data.Xml");
      return true;
    case pgoutput::kTsvectorOid:
      schema = NamedSchema(SchemaType::kString, "io.debezium.data.Tsvector");
      return true;
    case pgoutput::kTextOid:
    case pgoutput::kVarcharOid:
    case pgoutput::kBpcharOid:
    case pgoutput::kNameOid:
    case pgoutput::kCharOid:
    case pgoutput::kInetOid:
    case pgoutput::kCidrOid:
    case pgoutput::kMacaddrOid:
    case pgoutput::kMacaddr8Oid:
    case pgoutput::kInt4RangeOid:
    case pgoutput::kInt8RangeOid:
    case pgoutput::kNumRangeOid:
    case pgoutput::kTsRangeOid:
    case pgoutput::kTstzRangeOid:
    case pgoutput::kDateRangeOid:
      return true;
    default:
      return false;
  }
}

// False if the type is not a number, so that the caller can report the type.
bool SetNumber(uint32_t type_oid, ConnectColumnType& out, Schema& schema) {
  switch (type_oid) {
    case pgoutput::kBoolOid:
      out.form = ColumnForm::kBoolean;
      schema.type = SchemaType::kBoolean;
      return true;
    case pgoutput::kInt2Oid:
      out.form = ColumnForm::kInteger;
      schema.type = SchemaType::kInt16;
      return true;
    case pgoutput::kInt4Oid:
      out.form = ColumnForm::kInteger;
      schema.type = SchemaType::kInt32;
      return true;
    case pgoutput::kInt8Oid:
    // An OID is unsigned: an int32 would not hold all of them.
    case pgoutput::kOidOid:
      out.form = ColumnForm::kInteger;
      schema.type = SchemaType::kInt64;
      return true;
    case pgoutput::kFloat4Oid:
      out.form = ColumnForm::kFloat32;
      schema.type = SchemaType::kFloat32;
      return true;
    case pgoutput::kFloat8Oid:
      out.form = ColumnForm::kFloat64;
      schema.type = SchemaType::kFloat64;
      return true;
    default:
      return false;
  }
}

// Sets the shape of one value, and the basic schema. False: the type is not supported here.
bool SetScalar(const ColumnTraits& column, uint32_t type_oid, const TypeModes& modes,
               ConnectColumnType& out, Schema& schema) {
  out.type_oid = type_oid;
  // An enum's OID is assigned per database: only its labels show that it is one.
  if (!column.enum_labels.empty()) {
    schema = NamedSchema(SchemaType::kString, "io.debezium.data.Enum");
    schema.parameters = {{"allowed", fmt::format("{}", fmt::join(column.enum_labels, ","))}};
    return true;
  }
  if (type_oid == pgoutput::kByteaOid) {
    SetBinary(modes.binary, out, schema);
    return true;
  }
  if (type_oid == pgoutput::kNumericOid) {
    SetDecimal(column.type_modifier, modes.decimal, out, schema);
    return true;
  }
  return SetTemporalType(type_oid, column.type_modifier, modes, out, schema) ||
         SetText(type_oid, schema) || SetNumber(type_oid, out, schema) ||
         (!out.is_array && (SetBits(type_oid, column.type_modifier, out, schema) ||
                            SetGeometric(type_oid, modes.version, out, schema) ||
                            SetByName(column.type_name, modes, out, schema) ||
                            SetUnknown(column.type_name, modes, out, schema)));
}

// A default that is not a valid text of its type is ignored. The text and the value made of it are
// owned through the schema's pointer.
void SetDefault(const ColumnTraits& column, ConnectColumnType& shape, Schema& schema) {
  struct Kept {
    std::string text;
    Arena arena;
    Datum datum;
  };
  auto text = DefaultText(column.default_expression, shape);
  if (!text) {
    return;
  }
  // The aliasing pointer below owns text, arena and value together: the value's views stay valid as
  // long as any schema refers to it.
  auto kept = std::make_shared<Kept>();
  kept->text = *std::move(text);
  auto datum = DefaultDatum(kept->text, shape, kept->arena);
  if (datum.ok() && !datum->is_null()) {
    kept->datum = *std::move(datum);
    schema.default_value = std::shared_ptr<const Datum>(kept, &kept->datum);
  }
}

}  // namespace

// An unknown type is an error and not text, because a consumer would see something else than with
// Debezium.
absl::StatusOr<ConnectColumnType> ShapeOf(const ColumnTraits& column, const TypeModes& modes) {
  ConnectColumnType out;
  out.version = modes.version;
  Schema schema;
  const uint32_t element = pgoutput::ElementOid(column.type_oid);
  out.is_array = element != 0;
  if (!SetScalar(column, out.is_array ? element : column.type_oid, modes, out, schema)) {
    const std::string type = column.type_name.empty() ? fmt::format("{}", column.type_oid)
                                                      : Printable(column.type_name, 63);
    return Error(ErrorCode::kColumnType,
                 fmt::format("type {} is not supported by the Connect formats", type),
                 "Use format \"raw\" for it, or omit the column.");
  }
  if (out.is_array) {
    // Elements may always be NULL in Postgres.
    schema.optional = true;
    schema = {.type = SchemaType::kArray, .items = Shared(std::move(schema))};
  }
  schema.optional = schema.optional || column.nullable;
  // Conversion by form reads only `optional` from the schema.
  out.schema = Shared(schema);
  SetDefault(column, out, schema);
  out.schema = Shared(std::move(schema));
  return out;
}

}  // namespace walrelay
