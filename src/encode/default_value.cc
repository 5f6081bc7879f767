#include "encode/default_value.h"

#include <algorithm>
#include <iterator>

#include "encode/column_datum.h"
#include "encode/temporal_datum.h"
#include "pgoutput/type_oids.h"
#include "walrelay/config/format.h"

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

// java.util.regex does not match these with a dot.
size_t FindLineEnd(std::string_view text) {
  size_t end = text.find_first_of("\n\r");
  for (const std::string_view separator : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
    end = std::min(end, text.find(separator));
  }
  return end;
}

// "now()", "nextval('s'::regclass)", "(a.b(1))".
// Debezium recognises calls by their form: it does not know which functions exist.
bool IsCall(std::string_view expression) {
  if (expression.starts_with('(')) {
    expression.remove_prefix(1);
  }
  const size_t name = expression.find_first_not_of(
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
  if (name == std::string_view::npos || name == 0 || expression[name] != '(') {
    return false;
  }
  const std::string_view arguments = expression.substr(name + 1);
  return arguments.substr(0, FindLineEnd(arguments)).find(')') != std::string_view::npos;
}

bool IsCurrentTime(std::string_view expression) {
  constexpr std::string_view kNames[] = {"CURRENT_TIMESTAMP", "CURRENT_TIME", "CURRENT_DATE",
                                         "LOCALTIME", "LOCALTIMESTAMP"};
  return std::find(std::begin(kNames), std::end(kNames), expression) != std::end(kNames);
}

bool IsNumericConstant(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

bool IsText(uint32_t type_oid) {
  switch (type_oid) {
    case pgoutput::kBpcharOid:
    case pgoutput::kVarcharOid:
    case pgoutput::kTextOid:
    case pgoutput::kJsonOid:
    case pgoutput::kJsonbOid:
    case pgoutput::kXmlOid:
      return true;
    default:
      return false;
  }
}

// The first literal, with two quotes as one: 'x'::text, B'101'::"bit".
std::string Literal(std::string_view expression) {
  std::string out;
  for (size_t i = expression.find('\'') + 1; i < expression.size(); ++i) {
    if (expression[i] == '\'' && (i + 1 == expression.size() || expression[++i] != '\'')) {
      break;
    }
    out += expression[i];
  }
  return out;
}

// Debezium 3.6 ends a literal at any quote, and does not see one that contains a line end.
std::optional<std::string> Literal36(std::string_view expression) {
  size_t begin = expression.find('\'') + 1;
  for (size_t end = expression.find('\'', begin); end != std::string_view::npos;
       begin = end + 1, end = expression.find('\'', begin)) {
    const std::string_view literal = expression.substr(begin, end - begin);
    if (FindLineEnd(literal) == std::string_view::npos) {
      return std::string(literal);
    }
  }
  return std::nullopt;
}

// 'a''b'::mood is a''b: Debezium removes only the outer quotes.
std::optional<std::string> EnumDefault(std::string_view expression) {
  const size_t cast = expression.rfind("::");
  if (cast == std::string_view::npos || cast < 2 || !expression.starts_with('\'') ||
      expression[cast - 1] != '\'') {
    return std::nullopt;
  }
  return std::string(expression.substr(1, cast - 2));
}

// The text behind what every type has in common: NULL, calls and literals.
std::optional<std::string> ExtractDefault(std::string_view expression,
                                          const ConnectColumnType& shape) {
  if (expression.starts_with("NULL::")) {
    return std::nullopt;
  }
  if (IsCall(expression) || IsCurrentTime(expression)) {
    return std::string(Placeholder(shape.type_oid));
  }
  if (expression.find('\'') != std::string_view::npos) {
    return shape.version == DebeziumVersion::k3_6 ? Literal36(expression) : Literal(expression);
  }
  return std::string(expression);
}

bool IsAccepted(std::string_view text, std::string_view expression, uint32_t type_oid) {
  switch (type_oid) {
    case pgoutput::kNumericOid:
      return IsNumericConstant(text);
    case pgoutput::kUuidOid:
      return text.size() == Placeholder(type_oid).size();
    default:
      return IsText(type_oid) || IsNumericConstant(text) ||
             expression.find('\'') != std::string_view::npos || IsCall(expression) ||
             IsCurrentTime(expression);
  }
}

}  // namespace

// The expression is what pg_get_expr() prints: a literal with a cast, a call, or a constant.
std::optional<std::string> DefaultText(std::string_view expression,
                                       const ConnectColumnType& shape) {
  if (expression.empty() || !HasDefault(shape)) {
    return std::nullopt;
  }
  if (shape.type_oid >= pgoutput::kFirstUserOid) {
    return EnumDefault(expression);
  }
  auto text = ExtractDefault(expression, shape);
  if (text && shape.type_oid == pgoutput::kBoolOid) {
    return *text == "true" ? "t" : "f";
  }
  return text && IsAccepted(*text, expression, shape.type_oid) ? text : std::nullopt;
}

absl::StatusOr<Datum> DefaultDatum(std::string_view text, const ConnectColumnType& shape,
                                   Arena& arena) {
  switch (shape.type_oid) {
    case pgoutput::kDateOid:
    case pgoutput::kTimeOid:
    case pgoutput::kTimestampOid:
    case pgoutput::kTimestamptzOid:
      return TemporalDefault(text, shape, arena);
    default:
      return DatumOfText(text, shape, arena);
  }
}

}  // namespace walrelay
