#include "encode/properties_text.h"

#include <gtest/gtest.h>

#include <string>

namespace walrelay {
namespace {

class PropertiesTextTest : public ::testing::Test {
 protected:
  std::optional<std::string_view> In(std::string_view text, std::string_view key = "k") {
    return PropertyIn(text, key, arena_);
  }

  Arena arena_;
};

TEST_F(PropertiesTextTest, SpanContextWrittenByJavaIsParsed) {
  const std::string_view text =
      "#Sat Nov 21 08:14:02 UTC 2026\n"
      "tracestate=congo\\=t61rcWkgMzE,rojo\\=00f067aa0ba902b7\n"
      "traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n";
  EXPECT_EQ(In(text, "traceparent"), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  EXPECT_EQ(In(text, "tracestate"), "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7");
  EXPECT_EQ(In(text, "baggage"), std::nullopt);
}

TEST_F(PropertiesTextTest, KeyEndsAtASeparatorOrBlank) {
  for (const char* text : {"k=v", "k:v", "k v", "  k = v", "k\t:\tv", "k=v\r\n", "\n\nk=v\n",
                           "\\k=v", "#k=w\n!k=w\nk=v", "other=w\nk=v", "k=w\nk=v"}) {
    EXPECT_EQ(In(text), "v") << text;
  }
}

TEST_F(PropertiesTextTest, ValueKeepsSeparatorsAndBlanks) {
  EXPECT_EQ(In("k=a b:c=d "), "a b:c=d ");
  EXPECT_EQ(In("k="), "");
  EXPECT_EQ(In("k"), "");
}

TEST_F(PropertiesTextTest, EscapesAreDecoded) {
  EXPECT_EQ(In("k=a\\tb\\\\c\\:d\\u0041\\u00e9"), "a\tb\\c:dA\xC3\xA9");
  EXPECT_EQ(In("k=a\\\n   b"), "ab");
  EXPECT_EQ(In("k=a\\\r\n\tb\nx=y"), "ab");
  EXPECT_EQ(In("k\\ 1=v", "k 1"), "v");
}

TEST_F(PropertiesTextTest, MalformedTextDoesNotCrash) {
  for (const char* text : {"", "\\", "k=\\", "k=\\u12", "=", "\\u", "#", "k=\\uzzzz", "\n\\\n"}) {
    (void)In(text);
  }
  EXPECT_EQ(In(std::string(1 << 20, '\\')), std::nullopt);
}

}  // namespace
}  // namespace walrelay
