#include "encode/default_value.h"

#include "pgoutput/type_oids.h"

namespace walrelay {
namespace {

using pgoutput::TypeOid;

// Debezium ignores the defaults of all other types, and Connect has no default that is a struct.
bool HasDefault(const ConnectColumnType& shape) {
  if (shape.is_array || shape.schema->type == SchemaType::kStruct) {
    return false;
  }
  switch (shape.type_oid) {
    case pgoutput::kBitOid:
    case pgoutput::kVarbitOid:
    case pgoutput::kBoolOid:
    case pgoutput::kBpcharOid:
    case pgoutput::kVarcharOid:
    case pgoutput::kTextOid:
    case pgoutput::kNumericOid:
    case pgoutput::kFloat4Oid:
    case pgoutput::kFloat8Oid:
    case pgoutput::kInt2Oid:
    case pgoutput::kInt4Oid:
    case pgoutput::kInt8Oid:
    case pgoutput::kJsonOid:
    case pgoutput::kJsonbOid:
    case pgoutput::kXmlOid:
    case pgoutput::kUuidOid:
    case pgoutput::kDateOid:
    case pgoutput::kTimeOid:
    case pgoutput::kTimestampOid:
    case pgoutput::kTimestamptzOid:
    case pgoutput::kIntervalOid:
      return true;
    default:
      return shape.schema->name == "io.debezium.data.Enum";
  }
}

// The zero of each type, in the text form of its values.
std::string_view Placeholder(uint32_t type_oid) {
  switch (type_oid) {
    case pgoutput::kUuidOid:
      return "00000000-0000-0000-0000-000000000000";
    case pgoutput::kJsonOid:
    case pgoutput::kJsonbOid:
      return "{}";
    case pgoutput::kBpcharOid:
    case pgoutput::kVarcharOid:
    case pgoutput::kTextOid:
    case pgoutput::kXmlOid:
      return "";
    case pgoutput::kBoolOid:
      return "f";
    case pgoutput::kNumericOid:
      return "0.0";
    case pgoutput::kDateOid:
      return "1970-01-01";
    case pgoutput::kTimeOid:
    case pgoutput::kIntervalOid:
      return "00:00:00";
    case pgoutput::kTimestampOid:
    case pgoutput::kTimestamptzOid:
      return "1970-01-01 00:00:00";
    default:
      return "0";
  }
}

// "now()", "nextval('s'::regclass)", "(a.b(1))".
// Debezium recognises calls by their form: it does not know which functions exist.
bool IsCall(std::string_view expression) {
  if (expression.starts_with('(')) {
    expression.remove_prefix(1);
  }
  const size_t name = expression.find_first_not_of(
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
  return name != std::string_view::npos && name > 0 && expression[name] == '(' &&
         expression.find(')') != std::string_view::npos;
}

bool IsNumericConstant(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

}  // namespace

// The expression is what pg_get_expr() prints: a literal with a cast, a call, or a constant.
std::optional<std::string> DefaultText(std::string_view expression,
                                       const ConnectColumnType& shape) {
  if (expression.empty() || expression.starts_with("NULL") || !HasDefault(shape)) {
    return std::nullopt;
  }
  const bool is_enum = shape.type_oid >= pgoutput::kFirstUserOid;
  const bool is_call = IsCall(expression) || expression.starts_with("CURRENT_") ||
                       expression.starts_with("LOCALTIME");
  if (is_call) {
    return is_enum ? std::nullopt : std::optional(std::string(Placeholder(shape.type_oid)));
  }
  // The first literal, up to the next quote, even where two quotes represent one: 'x'::text,
  // B'101'::"bit".
  if (const size_t quote = expression.find('\''); quote != std::string_view::npos) {
    const std::string_view literal = expression.substr(quote + 1);
    return std::string(literal.substr(0, literal.find('\'')));
  }
  if (shape.type_oid == pgoutput::kBoolOid) {
    return expression == "true" ? "t" : "f";
  }
  // A negative number is printed with its cast: '-1'::integer; a positive one without.
  return IsNumericConstant(expression) ? std::optional(std::string(expression)) : std::nullopt;
}

}  // namespace walrelay
