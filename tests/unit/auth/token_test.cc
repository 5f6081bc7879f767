#include "auth/token.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "base/absl_strings.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

const WallTime kIssued{seconds(1'000'000)};
constexpr Micros kLifetime = minutes(5);

std::string Jwt(std::string_view claims) {
  return fmt::format("{}.{}.c2ln", absl::WebSafeBase64Escape(R"({"alg":"none"})"),
                     absl::WebSafeBase64Escape(ToAbsl(claims)));
}

// Seconds from kIssued to the expiry.
int64_t LifetimeOf(std::string_view text) {
  const auto token = ParseToken(text, kIssued, kLifetime);
  EXPECT_THAT(token, IsOk());
  return token.ok() ? (token->expiry - kIssued) / seconds(1) : 0;
}

TEST(TokenTest, JwtStatesWhenItExpires) {
  EXPECT_EQ(LifetimeOf(Jwt(R"({"sub":"relay","exp":1000060})")), 60);
  EXPECT_EQ(LifetimeOf(Jwt(R"({"exp":1000060.9})")), 60);
}

TEST(TokenTest, JwtWithoutSignatureIsRead) {
  EXPECT_EQ(
      LifetimeOf("eyJhbGciOiJub25lIn0." + absl::WebSafeBase64Escape(R"({"exp":1000060})") + "."),
      60);
}

TEST(TokenTest, OtherTokensHaveTheConfiguredLifetime) {
  for (const std::string& text : {std::string("opaque"), std::string("ya29.a0Af"), Jwt("{}"),
                                  std::string("a.!.b"), std::string("..")}) {
    EXPECT_EQ(LifetimeOf(text), 300) << text;
  }
}

TEST(TokenTest, JsonObjectStatesTheLifetime) {
  const auto token =
      ParseToken(" {\"access_token\":\"opaque\",\"token_type\":\"Bearer\",\"expires_in\":60}\n",
                 kIssued, kLifetime);
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(token->value.Reveal(), "opaque");
  EXPECT_EQ(token->expiry, kIssued + seconds(60));
}

TEST(TokenTest, EarlierOfTwoExpiriesApplies) {
  for (const auto& [exp, expires_in] : {std::pair(1'000'060, 90), std::pair(1'000'090, 60)}) {
    EXPECT_EQ(LifetimeOf(fmt::format(R"({{"access_token":"{}","expires_in":{}}})",
                                     Jwt(fmt::format(R"({{"exp":{}}})", exp)), expires_in)),
              60);
  }
}

TEST(TokenTest, WhiteSpaceAroundATokenIsIgnored) {
  EXPECT_EQ(ParseToken(" opaque\r\n", kIssued, kLifetime)->value.Reveal(), "opaque");
}

TEST(TokenTest, ExpiredTokenIsAnError) {
  for (const char* exp : {"1000000", "999999", "-1", "-9223372036854775808"}) {
    EXPECT_THAT(ParseToken(Jwt(fmt::format(R"({{"exp":{}}})", exp)), kIssued, kLifetime),
                HasError(ErrorCode::kKafkaToken))
        << exp;
  }
}

TEST(TokenTest, FarExpiryDoesNotOverflow) {
  EXPECT_GT(LifetimeOf(Jwt(R"({"exp":9223372036854775807})")), 1'000'000'000);
  EXPECT_GT(LifetimeOf(R"({"access_token":"t","expires_in":9223372036854775807})"), 1'000'000'000);
}

TEST(TokenTest, InvalidTextIsAnErrorThatDoesNotQuoteIt) {
  for (const char* text : {"", " \n", "{}", "{\"access_token\":\"\"}", "{\"access_token\":1}",
                           "{broken", "hunter2 second", "hunter2\nsecond", "hunter2\xC3\xA9"}) {
    const auto token = ParseToken(text, kIssued, kLifetime);
    EXPECT_THAT(token, HasError(ErrorCode::kKafkaToken)) << text;
    EXPECT_THAT(MessageOf(token.status()), Not(HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace walrelay
