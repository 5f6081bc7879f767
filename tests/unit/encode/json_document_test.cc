#include "encode/json_document.h"

#include <gtest/gtest.h>

#include <string>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

constexpr size_t kMaxValues = 2000;

// The tree as text.
std::string Told(const JsonValue& value) {
  std::string out;
  switch (value.kind) {
    case JsonValue::Kind::kNull:
      return "null";
    case JsonValue::Kind::kBoolean:
      return value.boolean ? "true" : "false";
    case JsonValue::Kind::kNumber:
      return "#" + std::string(value.text);
    case JsonValue::Kind::kString:
      return "<" + std::string(value.text) + ">";
    case JsonValue::Kind::kArray:
      for (const JsonValue& item : value.items()) {
        out += (out.empty() ? "" : " ") + Told(item);
      }
      return "[" + out + "]";
    case JsonValue::Kind::kObject:
      for (size_t i = 0; i < value.items().size(); ++i) {
        out +=
            (out.empty() ? "" : " ") + std::string(value.names()[i]) + ":" + Told(value.items()[i]);
      }
      return "{" + out + "}";
  }
  return "?";
}

// The tree of `text` as text; "-" for none, "too many" above the limit of values.
std::string Parse(const std::string& text) {
  JsonDocument document(kMaxValues);
  const auto root = document.Parse(text);
  return !root.ok() ? "too many" : *root == nullptr ? "-" : Told(**root);
}

TEST(JsonDocumentTest, ParseKeepsOrderKindsAndNumberText) {
  EXPECT_EQ(Parse(R"({"b": 1.10, "a": [true, false, null, "x"], "c": {}, "d": []})"),
            "{b:#1.10 a:[true false null <x>] c:{} d:[]}");
  EXPECT_EQ(Parse(R"([1e400, -0, 123456789012345678901234567890])"),
            "[#1e400 #-0 #123456789012345678901234567890]");
}

TEST(JsonDocumentTest, DuplicateNameHasTheLastValueAtTheFirstPosition) {
  EXPECT_EQ(Parse(R"({"a": 1, "b": 2, "a": 3, "\u0061": 4})"), "{a:#4 b:#2}");
}

TEST(JsonDocumentTest, TextAfterTheFirstValueIsIgnored) {
  EXPECT_EQ(Parse(R"({"a": 1} xyz)"), "{a:#1}");
  EXPECT_EQ(Parse("[1]\"unclosed"), "[#1]");
  EXPECT_EQ(Parse("[1]]]"), "[#1]");
}

TEST(JsonDocumentTest, EscapesAreDecoded) {
  EXPECT_EQ(Parse(R"(["\u00e9\n\"q\"\/\\", "\ud834\udd1e", "\ud800", "\ud800x"])"),
            "[<\u00e9\n\"q\"/\\> <\U0001D11E> <\xED\xA0\x80> <\xED\xA0\x80x>]");
}

TEST(JsonDocumentTest, OnlyObjectsAndArraysAreDocuments) {
  for (const char* text : {"", " {}", "42", "\"x\"", "null", "x"}) {
    EXPECT_EQ(Parse(text), "-") << text;
  }
}

TEST(JsonDocumentTest, MalformedTextHasNoTree) {
  for (const char* text : {"{",           "[",         "{]",       "[1,]",
                           "[1 2]",       "{\"a\" 1}", "{\"a\":}", "{\"a\":1 \"b\":2}",
                           "{a:1}",       "[tru]",     "[nul]",    "[nullx]",
                           "[01]",        "[1.]",      "[.5]",     "[+1]",
                           "[1e]",        "[-]",       "[NaN]",    "[\"\\x\"]",
                           "[\"\\u12\"]", "[\"\n\"]",  "[\"a]",    "{\"a\":1,}",
                           "[,1]",        "[1}",       "['a']"}) {
    EXPECT_EQ(Parse(text), "-") << text;
  }
}

TEST(JsonDocumentTest, NestingIsLimitedToAThousandLevels) {
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_NE(Parse(nested(1000)), "-");
  EXPECT_EQ(Parse(nested(1001)), "-");
}

// Values count at every level; the document itself is one.
TEST(JsonDocumentTest, NumberOfValuesIsLimited) {
  const auto repeated = [](std::string_view what, size_t times) {
    std::string text;
    for (size_t i = 0; i < times; ++i) {
      text.append(i == 0 ? "" : ",").append(what);
    }
    return text;
  };
  const size_t most = kMaxValues;
  EXPECT_NE(Parse("[" + repeated("1", most - 1) + "]"), "too many");
  EXPECT_EQ(Parse("[" + repeated("1", most) + "]"), "too many");
  EXPECT_NE(Parse("[" + repeated("[[]]", most / 2 - 1) + "]"), "too many");
  EXPECT_EQ(Parse("[" + repeated("[[]]", most / 2) + "]"), "too many");
  EXPECT_EQ(Parse("{" + repeated(R"("a":null)", most) + "}"),
            "too many");  // overwritten values count too
  EXPECT_EQ(Parse("[[],{\"a\":[" + repeated("{}", most) + "]}]"), "too many");
  JsonDocument document(kMaxValues);
  EXPECT_THAT(document.Parse("[" + repeated("1", most) + "]"),
              HasError(ErrorCode::kRecordTooLarge, "more than 2000 values"));
  EXPECT_EQ(Told(**document.Parse("[1]")), "[#1]");
}

TEST(JsonDocumentTest, NextParseReplacesTheTree) {
  JsonDocument document(kMaxValues);
  ASSERT_NE(*document.Parse("{\"a\": [1, 2, 3]}"), nullptr);
  ASSERT_NE(*document.Parse("[]"), nullptr);
  EXPECT_EQ(Told(**document.Parse("[]")), "[]");
  EXPECT_EQ(*document.Parse("x"), nullptr);
}

}  // namespace
}  // namespace walrelay
