#include "debezium/json_mistake.h"

#include <gtest/gtest.h>

#include <string>

namespace walrelay {
namespace {

// "offset: what was expected".
std::string MistakeIn(std::string_view text) {
  const auto mistake = FindJsonMistake(text);
  return mistake ? std::to_string(mistake->at) + ": " + std::string(mistake->expected) : "none";
}

TEST(JsonMistakeTest, ValidTextHasNone) {
  for (const char* text : {"{}", " [] ", R"({"a": -0.5e+3, "b": [], "c": {"d": [true, null]}})",
                           R"("\u00e9\"\\")", "0"}) {
    EXPECT_EQ(MistakeIn(text), "none") << text;
  }
}

TEST(JsonMistakeTest, FirstMistakeIsFound) {
  EXPECT_EQ(MistakeIn("{\"a\": 1 \"b\": 2}"), "8: a comma or }");
  EXPECT_EQ(MistakeIn("{\"a\": [1 2]}"), "9: a comma or ]");
  EXPECT_EQ(MistakeIn("{\"a\" 1}"), "5: a colon");
  EXPECT_EQ(MistakeIn("{\"a\": 1,}"), "8: a name in double quotes");
  EXPECT_EQ(MistakeIn("{'a': 1}"), "1: a name in double quotes");
  EXPECT_EQ(MistakeIn("{\"a\": 1}}"), "8: the end of the file");
  EXPECT_EQ(MistakeIn("{\"a\": {\"b\": 1}"), "14: a comma or }");
}

TEST(JsonMistakeTest, InvalidValueIsFound) {
  for (const char* value : {"", "tru", "True", "01", "1.", "1.2.3", "-", "1e", "+1", "'x'"}) {
    EXPECT_EQ(MistakeIn("{\"a\":" + std::string(value) + "}").substr(0, 10), "5: a value") << value;
  }
}

TEST(JsonMistakeTest, OpenStringIsReportedAtItsBeginning) {
  EXPECT_EQ(MistakeIn("{\"a\": \"x}"), "6: a closing quote");
  EXPECT_EQ(MistakeIn("{\"a\": \"x,\n\"b\": 1}"), "6: a closing quote on the same line");
  EXPECT_EQ(MistakeIn("{\"a\": \"\\"), "6: a closing quote");
  EXPECT_EQ(MistakeIn("{\"a\": \"\\q\"}"), "8: one of \"\\/bfnrtu after the backslash");
}

TEST(JsonMistakeTest, DepthIsBounded) {
  EXPECT_EQ(MistakeIn(std::string(100'000, '[')), "65: fewer levels");
}

}  // namespace
}  // namespace walrelay
