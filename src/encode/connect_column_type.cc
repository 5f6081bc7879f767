#include "encode/connect_column_type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "encode/column_datum.h"
#include "encode/default_value.h"
#include "pgoutput/type_oids.h"
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

// Debezium's and Connect's logical types have version 1.
Schema Named(SchemaType type, std::string name) {
  return {.type = type, .name = std::move(name), .version = 1};
}

SchemaPtr Shared(Schema schema) {
  return std::make_shared<const Schema>(std::move(schema));
}

// NUMERIC without precision has no fixed scale: each value carries its own.
Schema NumericSchema(int32_t modifier) {
  // -1: declared without precision.
  if (modifier < kModifierOffset) {
    Schema variable = Named(SchemaType::kStruct, "io.debezium.data.VariableScaleDecimal");
    variable.doc = "Variable scaled decimal";
    variable.fields = {{"scale", Shared({.type = SchemaType::kInt32})},
                       {"value", Shared({.type = SchemaType::kBytes})}};
    return variable;
  }
  const Scale scale = ScaleOf(modifier);
  Schema decimal = Named(SchemaType::kBytes, "org.apache.kafka.connect.data.Decimal");
  decimal.parameters = {{"scale", fmt::format("{}", scale.scale)},
                        {"connect.decimal.precision", fmt::format("{}", scale.precision)}};
  return decimal;
}

// For up to three fraction digits Debezium counts milliseconds, otherwise microseconds.
bool IsMillis(int32_t modifier) {
  return modifier >= 0 && modifier <= 3;
}

// With time.precision.mode=adaptive: the declared precision decides the unit.
void SetTemporal(uint32_t type_oid, int32_t modifier, ConnectColumnType& out, Schema& schema) {
  const bool millis = IsMillis(modifier);
  switch (type_oid) {
    case pgoutput::kDateOid:
      out.form = ColumnForm::kDate;
      schema = Named(SchemaType::kInt32, "io.debezium.time.Date");
      break;
    case pgoutput::kTimeOid:
      out.form = millis ? ColumnForm::kTimeMillis : ColumnForm::kTimeMicros;
      schema = millis ? Named(SchemaType::kInt32, "io.debezium.time.Time")
                      : Named(SchemaType::kInt64, "io.debezium.time.MicroTime");
      break;
    case pgoutput::kTimetzOid:
      out.form = ColumnForm::kTimeWithZone;
      schema = Named(SchemaType::kString, "io.debezium.time.ZonedTime");
      break;
    case pgoutput::kTimestampOid:
      out.form = millis ? ColumnForm::kTimestampMillis : ColumnForm::kTimestampMicros;
      schema = Named(SchemaType::kInt64,
                     millis ? "io.debezium.time.Timestamp" : "io.debezium.time.MicroTimestamp");
      break;
    default:
      out.form = ColumnForm::kTimestampWithZone;
      // Without a declared precision Postgres stores six digits.
      out.fraction_digits = modifier >= 0 && modifier <= 6 ? modifier : 6;
      schema = Named(SchemaType::kString, "io.debezium.time.ZonedTimestamp");
  }
}

// Text without a logical type for everything that Debezium shows as Postgres prints it.
bool SetText(uint32_t type_oid, Schema& schema) {
  switch (type_oid) {
    case pgoutput::kUuidOid:
      schema = Named(SchemaType::kString, "io.debezium.data.Uuid");
      return true;
    case pgoutput::kJsonOid:
    case pgoutput::kJsonbOid:
      schema = Named(SchemaType::kString, "io.debezium.data.Json");
      return true;
    case pgoutput::kXmlOid:
      schema = Named(SchemaType::kString, "io.debezium.data.Xml");
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
bool SetNumber(uint32_t type_oid, int32_t modifier, ConnectColumnType& out, Schema& schema) {
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
    case pgoutput::kNumericOid:
      out.form = modifier < kModifierOffset ? ColumnForm::kVariableDecimal : ColumnForm::kDecimal;
      schema = NumericSchema(modifier);
      return true;
    default:
      return false;
  }
}

bool IsTemporal(uint32_t type_oid) {
  return type_oid == pgoutput::kDateOid || type_oid == pgoutput::kTimeOid ||
         type_oid == pgoutput::kTimetzOid || type_oid == pgoutput::kTimestampOid ||
         type_oid == pgoutput::kTimestamptzOid;
}

// Sets the shape of one value, and the basic schema. False: the type is not supported here.
bool SetScalar(const ColumnTraits& column, uint32_t type_oid, ConnectColumnType& out,
               Schema& schema) {
  out.type_oid = type_oid;
  // An enum's OID is assigned per database: only its labels show that it is one.
  if (!column.enum_labels.empty()) {
    schema = Named(SchemaType::kString, "io.debezium.data.Enum");
    schema.parameters = {{"allowed", fmt::format("{}", fmt::join(column.enum_labels, ","))}};
    return true;
  }
  if (type_oid == pgoutput::kByteaOid) {
    out.form = ColumnForm::kBytes;
    schema.type = SchemaType::kBytes;
    return true;
  }
  if (IsTemporal(type_oid)) {
    SetTemporal(type_oid, column.type_modifier, out, schema);
    return true;
  }
  return SetText(type_oid, schema) || SetNumber(type_oid, column.type_modifier, out, schema);
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
  auto datum = DatumOfText(kept->text, shape, kept->arena);
  if (datum.ok() && !datum->is_null()) {
    kept->datum = *std::move(datum);
    schema.default_value = std::shared_ptr<const Datum>(kept, &kept->datum);
  }
}

}  // namespace

// An unknown type is an error and not text, because a consumer would see something else than with
// Debezium.
absl::StatusOr<ConnectColumnType> ShapeOf(const ColumnTraits& column) {
  ConnectColumnType out;
  Schema schema;
  const uint32_t element = pgoutput::ElementOid(column.type_oid);
  out.is_array = element != 0;
  if (!SetScalar(column, out.is_array ? element : column.type_oid, out, schema)) {
    return Error(ErrorCode::kColumnType,
                 fmt::format("type {} is not supported by the Connect formats", column.type_oid),
                 "Use format \"raw\" for it, or omit the column.");
  }
  if (out.is_array) {
    // Elements may always be NULL in Postgres.
    schema.optional = true;
    schema = {.type = SchemaType::kArray, .items = Shared(std::move(schema))};
  }
  schema.optional = column.nullable;
  // Conversion by form reads only `optional` from the schema.
  out.schema = Shared(schema);
  SetDefault(column, out, schema);
  out.schema = Shared(std::move(schema));
  return out;
}

}  // namespace walrelay
