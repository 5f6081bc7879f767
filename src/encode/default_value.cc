#include "encode/default_value.h"

#include "pgoutput/type_oids.h"

namespace walrelay {
namespace {

using pgoutput::TypeOid;

// Types whose defaults Debezium ignores.
bool HasNoDefaults(const ConnectColumnType& shape) {
  return shape.is_array || shape.form == ColumnForm::kBytes ||
         shape.form == ColumnForm::kVariableDecimal || shape.type_oid == pgoutput::kInetOid;
}

// The zero of each type, in the text form of its values.
std::string_view Placeholder(const ConnectColumnType& shape) {
  switch (shape.form) {
    case ColumnForm::kText:
      if (shape.type_oid == pgoutput::kUuidOid) {
        return "00000000-0000-0000-0000-000000000000";
      }
      return shape.type_oid == pgoutput::kJsonOid || shape.type_oid == pgoutput::kJsonbOid ? "{}"
                                                                                           : "";
    case ColumnForm::kBoolean:
      return "f";
    case ColumnForm::kDate:
      return "1970-01-01";
    case ColumnForm::kTimeMillis:
    case ColumnForm::kTimeMicros:
      return "00:00:00";
    case ColumnForm::kTimeWithZone:
      return "00:00:00+00";
    case ColumnForm::kTimestampMillis:
    case ColumnForm::kTimestampMicros:
      return "1970-01-01 00:00:00";
    case ColumnForm::kTimestampWithZone:
      return "1970-01-01 00:00:00+00";
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
  if (expression.empty() || expression.starts_with("NULL") || HasNoDefaults(shape)) {
    return std::nullopt;
  }
  if (expression.starts_with('\'')) {
    // Up to the first quote, even where two quotes represent one.
    const std::string_view literal = expression.substr(1);
    return std::string(literal.substr(0, literal.find('\'')));
  }
  if (shape.form == ColumnForm::kBoolean) {
    return expression == "true" ? "t" : "f";
  }
  if (IsCall(expression) || expression.starts_with("CURRENT_") ||
      expression.starts_with("LOCALTIME")) {
    return std::string(Placeholder(shape));
  }
  // A negative number is printed with its cast: '-1'::integer; a positive one without.
  return IsNumericConstant(expression) ? std::optional(std::string(expression)) : std::nullopt;
}

}  // namespace walrelay
