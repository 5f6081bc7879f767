#include "debezium/jaas_config.h"

#include <optional>

#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Splits a text into tokens, as Java's StreamTokenizer does.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : rest_(text) {}

  // nullopt at the end, and for an unterminated quote.
  std::optional<std::string> Next() {
    const size_t begin = rest_.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) {
      return std::nullopt;
    }
    rest_.remove_prefix(begin);
    const char first = rest_.front();
    if (first == '"' || first == '\'') {
      return Quoted(first);
    }
    // "=" and ";" are tokens of their own; any other token ends before them, a blank or a quote.
    const size_t end = first == '=' || first == ';' ? 1 : rest_.find_first_of(" \t\r\n=;\"'");
    std::string token(rest_.substr(0, end));
    rest_.remove_prefix(token.size());
    return token;
  }

 private:
  // Without the quotes. A backslash escapes the next character, so that a password may contain a
  // quote.
  std::optional<std::string> Quoted(char quote) {
    std::string token;
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == quote) {
        rest_.remove_prefix(i + 1);
        return token;
      }
      if (rest_[i] == '\\' && i + 1 < rest_.size()) {
        ++i;
      }
      token += rest_[i];
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

// Without the text: it contains a password.
absl::Status Malformed() {
  return Error(ErrorCode::kConfigValue, "expected the form MODULE required name=\"value\" …;");
}

}  // namespace

// The flag (required, optional, ...) decides nothing with a single module.
absl::StatusOr<JaasLogin> ParseJaasConfig(std::string_view text) {
  Tokens tokens(text);
  const auto module = tokens.Next();
  const auto flag = tokens.Next();
  if (!module || !flag) {
    return Malformed();
  }
  JaasLogin out{.module = *module};
  while (true) {
    const auto name = tokens.Next();
    if (!name) {
      return Malformed();
    }
    if (*name == ";") {
      return out;
    }
    const auto equals = tokens.Next();
    const auto value = tokens.Next();
    if (equals != "=" || !value) {
      return Malformed();
    }
    out.options[*name] = *value;
  }
}

}  // namespace walrelay
