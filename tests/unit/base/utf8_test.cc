#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace walrelay {
namespace {

std::string Utf8(uint32_t point) {
  char bytes[4];
  return {bytes, PutUtf8(point, bytes)};
}

// The first and last code point of each length, and the neighbours of the surrogates.
TEST(Utf8Test, CharactersAreReadAsWritten) {
  for (const uint32_t point :
       {0x00u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    const std::string text = Utf8(point);
    EXPECT_EQ(FirstCharacter(text).point, point);
    EXPECT_EQ(FirstCharacter(text).length, text.size()) << point;
    EXPECT_TRUE(IsUtf8(text + "z")) << point;
    for (size_t size = 1; size < text.size(); ++size) {
      EXPECT_FALSE(IsUtf8(text.substr(0, size))) << point;
    }
  }
  EXPECT_EQ(Utf8(0x20AC), "€");
}

TEST(Utf8Test, MalformedSequencesAreRejected) {
  for (const char* text : {"\x80", "\xBF", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                           "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                           "\xF5\x80\x80\x80", "\xFF", "\xC2z", "\xE2\x82z", "\xF0\x9F\xA6z"}) {
    EXPECT_EQ(FirstCharacter(text).length, 0u) << text;
  }
}

TEST(Utf8Test, CodeUnitHasFourHexadecimalDigits) {
  std::string_view text = "20aCz";
  EXPECT_EQ(TakeCodeUnit(text), 0x20ACu);
  EXPECT_EQ(text, "z");
  for (std::string_view wrong : {"", "12", "12x4", "-123", "+123", "0x12", " 123"}) {
    EXPECT_EQ(TakeCodeUnit(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace walrelay
