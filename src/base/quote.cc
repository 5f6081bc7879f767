#include "base/quote.h"

namespace walrelay {
namespace {

// A literal also needs its backslashes doubled, because it is written as E'...' then.
std::string Double(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote || (c == '\\' && quote == '\'')) {
      out += c;
    }
    out += c;
  }
  return out + quote;
}

}  // namespace

std::string QuoteIdentifier(std::string_view name) {
  return Double(name, '"');
}

std::string QuoteQualified(std::string_view schema, std::string_view name) {
  return QuoteIdentifier(schema) + "." + QuoteIdentifier(name);
}

std::string QuoteLiteral(std::string_view text) {
  const bool has_backslash = text.find('\\') != std::string_view::npos;
  // The prefix E is used only where it is needed: what is printed for the operator stays readable.
  return (has_backslash ? "E" : "") + Double(text, '\'');
}

}  // namespace walrelay
