#include "base/text.h"

#include <gtest/gtest.h>

#include <array>

namespace walrelay {
namespace {

std::string Json(std::string_view text) {
  std::string out;
  AppendJsonString(text, out);
  return out;
}

TEST(PrintableTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(Printable("a\nb\x1b[31mc\x7f"), "a\\x0ab\\x1b[31mc\\x7f");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            "\\x9b31m");  // CSI as C1
}

// Line separators of some viewers, and text direction controls: the first and last of each range.
TEST(PrintableTest, LineAndDirectionCharactersAreEscaped) {
  EXPECT_EQ(Printable("a\u2028b\u2029c"), "a\\u2028b\\u2029c");
  EXPECT_EQ(Printable("\u061C\u200E\u200F\u202A\u202E\u2066\u2069\u206F"),
            "\\u061c\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069\\u206f");
  EXPECT_EQ(Json("a\u2028\u202Eb"), R"("a\u2028\u202eb")");
  // The neighbouring code points are text.
  const std::string_view plain = "\u061B\u200D\u2010\u2027\u202F\u2065\u2070\u20AC";
  EXPECT_EQ(Printable(plain), plain);
}

TEST(PrintableTest, ValidUtf8PassesAndInvalidBytesAreEscaped) {
  EXPECT_EQ(Printable("Zürich 🦊"), "Zürich 🦊");
  EXPECT_EQ(Printable("\xC0\xAF|\xED\xA0\x80|\xFF"), "\\xc0\\xaf|\\xed\\xa0\\x80|\\xff");
  EXPECT_EQ(Printable("\xE2\x82"), "\\xe2\\x82");
}

TEST(PrintableTest, LongTextIsTruncated) {
  EXPECT_EQ(Printable("abcdef", 3), "abc…");
}

TEST(JsonStringTest, JsonSpecialCharactersAreEscaped) {
  EXPECT_EQ(Json("a\"b\\c\n\t\x01"), R"("a\"b\\c\n\t\u0001")");
  EXPECT_EQ(Json("\xC2\x85"), R"("\u0085")");
}

TEST(JsonStringTest, InvalidUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(Json("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
}

TEST(NearestNameTest, FindsTheTypo) {
  constexpr std::array<std::string_view, 3> kKeys = {"slot", "publication", "bootstrap_servers"};
  EXPECT_EQ(NearestName("slto", kKeys), "slot");
  EXPECT_EQ(NearestName("bootstrap_server", kKeys), "bootstrap_servers");
  EXPECT_EQ(NearestName("colour", kKeys), "");
}

TEST(NearestNameTest, ShortNameIsNearWithinOneTypo) {
  constexpr std::array<std::string_view, 3> kKeys = {"log", "dsn", "run"};
  EXPECT_EQ(NearestName("foo", kKeys), "");
  EXPECT_EQ(NearestName("lgo", kKeys), "log") << "two letters exchanged";
  EXPECT_EQ(NearestName("dns", kKeys), "dsn");
  EXPECT_EQ(NearestName("runn", kKeys), "run");
}

// Takes minutes if the distance is computed, and no time otherwise: the name comes from a file.
TEST(NearestNameTest, HugeNameIsNearToNothing) {
  constexpr std::array<std::string_view, 2> kKeys = {"slot", "bootstrap_servers"};
  EXPECT_EQ(NearestName(std::string(size_t{64} << 20, 's'), kKeys), "");
}

TEST(HumanTest, BytesAreReadable) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(uint64_t{5} << 40), "5.0 TiB");
}

TEST(HumanTest, DurationsAreRounded) {
  using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  EXPECT_EQ(FormatDuration(Micros(-5)), "0 µs");
  EXPECT_EQ(FormatDuration(Micros(250)), "250 µs");
  EXPECT_EQ(FormatDuration(Micros(1'400)), "1.4 ms");
  EXPECT_EQ(FormatDuration(Micros(4'460'000)), "4.5 s");
  EXPECT_EQ(FormatDuration(seconds(5)), "5 s");
  EXPECT_EQ(FormatDuration(Micros(59'990'000)), "59 s");
  EXPECT_EQ(FormatDuration(seconds(77)), "1 min 17 s");
  EXPECT_EQ(FormatDuration(seconds(597)), "9 min 57 s");
  EXPECT_EQ(FormatDuration(minutes(59)), "59 min");
  EXPECT_EQ(FormatDuration(minutes(125)), "2 h 5 min");
  EXPECT_EQ(FormatDuration(hours(47)), "47 h");
  EXPECT_EQ(FormatDuration(hours(72)), "3 days");
}

TEST(Rfc3339Test, IsParsed) {
  const WallTime time = *ParseRfc3339("2026-11-20T09:00:02.000123+01:00");
  EXPECT_EQ(Rfc3339(time), "2026-11-20T08:00:02.000123Z");
  EXPECT_EQ(ParseRfc3339(Rfc3339(time)), time);
  EXPECT_EQ(Rfc3339(*ParseRfc3339("2026-11-20T08:00:02Z")), "2026-11-20T08:00:02.000000Z");
  for (const char* const text :
       {"", "now", "infinite-future", "2026-11-20", "2026-11-20T08:00:02", "2026-13-20T08:00:02Z",
        "10000-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "2026-11-20T08:00:02Z; --"}) {
    EXPECT_EQ(ParseRfc3339(text), std::nullopt) << text;
  }
}

TEST(Rfc3339Test, KeepsMicroseconds) {
  const WallTime time = std::chrono::sys_days(std::chrono::year(2026) / 11 / 20) +
                        std::chrono::hours(8) + Micros(2'000'123);
  EXPECT_EQ(Rfc3339(time), "2026-11-20T08:00:02.000123Z");
  EXPECT_EQ(Rfc3339(WallTime(Micros(-1))), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(Rfc3339(std::chrono::sys_days(std::chrono::year(9999) / 1 / 1)),
            "9999-01-01T00:00:00.000000Z");
}

TEST(GroupedTest, CommasSeparateThousands) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1'000), "1,000");
  EXPECT_EQ(Grouped(1'234'567), "1,234,567");
}

}  // namespace
}  // namespace walrelay
