#include "auth/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "auth/json_fields.h"
#include "base/absl_strings.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
// Longer than any lifetime, and far from the end of WallTime: year 5138.
constexpr int64_t kMaxSeconds = 100'000'000'000;

absl::Status InvalidToken(std::string_view why) {
  return Error(ErrorCode::kKafkaToken, why);
}

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// `exp` of a JWT (HEADER.PAYLOAD.SIGNATURE). nullopt: another kind of token, or one without it.
std::optional<int64_t> ExpirySecondsOf(std::string_view token) {
  const size_t first = token.find('.');
  const size_t second = token.find('.', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos) {
    return std::nullopt;
  }
  std::string payload;
  const auto claims =
      absl::WebSafeBase64Unescape(ToAbsl(token.substr(first + 1, second - first - 1)), &payload)
          ? JsonFields::Parse(payload)
          : std::nullopt;
  return claims ? claims->Number("exp") : std::nullopt;
}

std::chrono::seconds Seconds(int64_t count) {
  return std::chrono::seconds(std::clamp<int64_t>(count, 0, kMaxSeconds));
}

// librdkafka would reject other characters, and quote the token in its message.
bool IsPrintable(std::string_view token) {
  return std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

}  // namespace

absl::StatusOr<Token> ParseToken(std::string_view text, WallTime now, Micros lifetime) {
  text = Trimmed(text);
  std::optional<int64_t> expires_in;
  Secret token{std::string(text)};
  if (text.starts_with('{')) {
    const auto fields = JsonFields::Parse(text);
    if (!fields || fields->Text("access_token").empty()) {
      return InvalidToken("expected a token, or a JSON object with access_token");
    }
    token = fields->Text("access_token");
    expires_in = fields->Number("expires_in");
  }
  if (token.empty()) {
    return InvalidToken("the token is empty");
  }
  if (!IsPrintable(token.Reveal())) {
    return InvalidToken("the token contains a space, a line end or a character outside ASCII");
  }
  const auto exp = ExpirySecondsOf(token.Reveal());
  WallTime expiry = exp ? WallTime(Seconds(*exp)) : now + lifetime;
  if (expires_in) {
    const WallTime stated = now + Seconds(*expires_in);
    expiry = exp ? std::min(expiry, stated) : stated;
  }
  if (expiry <= now) {
    return InvalidToken(fmt::format("the token has expired at {}", Rfc3339(expiry)));
  }
  return Token{.value = std::move(token), .expiry = expiry};
}

}  // namespace walrelay
