#include "encode/json_string.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace walrelay {
namespace {

// `text` begins after the opening quote.
std::optional<std::string> Unescaped(std::string_view text) {
  Arena arena;
  const auto out = Unescape(text, arena);
  return out ? std::optional(std::string(*out)) : std::nullopt;
}

TEST(JsonStringTest, TextEndsAtTheClosingQuote) {
  EXPECT_EQ(Unescaped("\""), "");
  EXPECT_EQ(Unescaped("a b\" and more"), "a b");
  EXPECT_EQ(Unescaped(R"(a\"b" and more)"), "a\"b");
}

TEST(JsonStringTest, EscapesAreDecoded) {
  EXPECT_EQ(Unescaped(R"(\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(Unescaped(R"(\u0041\u00e9\u20AC")"), "A\u00e9\u20ac");
  EXPECT_EQ(Unescaped(R"(\u0000")"), std::string(1, '\0'));
}

TEST(JsonStringTest, PairsOfSurrogatesAreOneCharacterAndLoneOnesAreKept) {
  EXPECT_EQ(Unescaped(R"(\ud834\udd1e")"), "\U0001D11E");
  EXPECT_EQ(Unescaped(R"(\ud834x")"), "\xED\xA0\xB4x");
  EXPECT_EQ(Unescaped(R"(\udd1e\ud834")"), "\xED\xB4\x9E\xED\xA0\xB4");
  EXPECT_EQ(Unescaped(R"(\ud834\u0041")"),
            "\xED\xA0\xB4"
            "A");
}

TEST(JsonStringTest, MalformedStringsAreRefused) {
  for (const char* text : {"", "a", R"(\)", R"(\")", "a\nb\"", "\x1f\"", R"(\x")", R"(\u12")",
                           R"(\u12G4")", R"(\u-123")", R"(\U0041")"}) {
    EXPECT_EQ(Unescaped(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace walrelay
