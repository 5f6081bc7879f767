#include "base/log_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

#include "json_field.h"

namespace walrelay {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

constexpr std::string_view kHostile[] = {
    "a\nb",
    "a\r\nb",
    "\x1b[2J\x1b]0;title\a",
    "\xC2\x9B"
    "31m",  // C1: a terminal interprets it as ESC [
    "\xFF\xC0\xAF\xED\xA0\x80",
    {"zero\0byte", 9},
    "\"}\n{\"level\":\"error\"",
    "\x7F\b\b\b",
    "a\u2028b\u2029c\u0085d",                        // viewers treat them as line ends
    "\u202Eevil\u202C \u2067x\u2069 \u200F \u061C",  // they change the direction of text
};

bool HasControlCharacter(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    const bool c1 = i > 0 && line[i - 1] == '\xC2' && byte < 0xA0;
    const std::string_view here = line.substr(i);
    const bool steers = here.starts_with("\u2028") || here.starts_with("\u2029") ||
                        here.starts_with("\u202C") || here.starts_with("\u202E") ||
                        here.starts_with("\u2067") || here.starts_with("\u2069") ||
                        here.starts_with("\u200F") || here.starts_with("\u061C");
    if (byte < 0x20 || byte == 0x7F || c1 || steers) {
      return true;
    }
  }
  return false;
}

class LogLineTest : public ::testing::Test {
 protected:
  static std::string LineOf(LogFormat format, std::string_view message,
                            std::initializer_list<LogField> fields = {}) {
    const std::vector<LogField> all(fields);
    const LogLine line{LogLevel::kInfo, nullptr, "event", message, all};
    return format == LogFormat::kJson ? JsonLine(line)
                                      : TextLine(line, /*colour=*/false, /*name_pipeline=*/false);
  }
};

TEST_F(LogLineTest, JsonLineHasTimeLevelEventAndMessage) {
  const std::string line = LineOf(LogFormat::kJson, "it begins");
  EXPECT_THAT(line, StartsWith("{\"ts\":\"20"));
  EXPECT_THAT(FieldOf(line, "ts"), EndsWith("Z"));
  EXPECT_EQ(FieldOf(line, "level"), "info");
  EXPECT_EQ(FieldOf(line, "event"), "event");
  EXPECT_EQ(FieldOf(line, "msg"), "it begins");
}

TEST_F(LogLineTest, JsonKeepsTheTypeOfEachField) {
  const std::string line = LineOf(LogFormat::kJson, "m",
                                  {{"text", "1"},
                                   {"least", std::numeric_limits<int64_t>::min()},
                                   {"most", std::numeric_limits<uint64_t>::max()},
                                   {"small", -1},
                                   {"oid", uint32_t{16385}},
                                   {"flag", true},
                                   {"ratio", 0.5},
                                   {"position", Lsn(0x16B374D848)}});
  EXPECT_THAT(line, EndsWith(R"("text":"1","least":-9223372036854775808,)"
                             R"("most":18446744073709551615,"small":-1,"oid":16385,"flag":true,)"
                             R"("ratio":0.5,"position":"16/B374D848"})"));
}

// JSON cannot represent them.
TEST_F(LogLineTest, NonFiniteNumbersAreWrittenAsNull) {
  for (const double number :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(FieldOf(LineOf(LogFormat::kJson, "m", {{"n", number}}), "n"), "null");
  }
}

TEST_F(LogLineTest, TextLineHasLevelEventMessageAndFields) {
  const std::string line = LineOf(LogFormat::kText, "it begins",
                                  {{"slot", "walrelay"}, {"lag", 7}, {"ok", true}, {"none", ""}});
  EXPECT_THAT(line, EndsWith("Z info    event                it begins"
                             "  slot=walrelay  lag=7  ok=true  none=\"\""));
}

TEST_F(LogLineTest, HostileTextStaysOnItsLineWithoutControlCharacters) {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    for (const std::string_view hostile : kHostile) {
      const std::string line = LineOf(format, hostile, {{"key", hostile}, {"other", hostile}});
      EXPECT_FALSE(HasControlCharacter(line)) << line;
    }
  }
}

TEST_F(LogLineTest, JsonOfHostileTextCanBeParsed) {
  for (const std::string_view hostile : kHostile) {
    const std::string line = LineOf(LogFormat::kJson, hostile, {{"key", hostile}});
    EXPECT_EQ(FieldOf(line, "level"), "info");
    EXPECT_EQ(FieldOf(line, "msg"), FieldOf(line, "key"));
  }
  EXPECT_EQ(FieldOf(LineOf(LogFormat::kJson, "a\n\"\\\x1b"), "msg"), "a\n\"\\\x1b");
}

TEST_F(LogLineTest, QuotesInAValueDoNotStartAField) {
  const std::string line = LineOf(LogFormat::kText, "m", {{"key", R"(a"  code="WR-1001\)"}});
  EXPECT_THAT(line, EndsWith(R"(key="a\"  code=\"WR-1001\\")"));
}

TEST_F(LogLineTest, LongTextIsTruncated) {
  const std::string megabyte(1 << 20, 'x');
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    EXPECT_LT(LineOf(format, megabyte, {{"a", megabyte}, {"b", megabyte}}).size(), 5'000u);
  }
}

TEST_F(LogLineTest, TextTruncatedInsideACharacterIsValidUtf8) {
  for (const size_t length : {1021u, 1022u, 1023u, 2045u, 2046u, 2047u}) {
    const std::string text = std::string(length, 'x') + "🦊🦊";
    EXPECT_NE(FieldOf(LineOf(LogFormat::kJson, text, {{"key", text}}), "key"), "absent");
  }
}

}  // namespace
}  // namespace walrelay
