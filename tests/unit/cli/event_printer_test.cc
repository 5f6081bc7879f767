// A line of `walrelay run --events json`, from the printer to the parser of the demo.
#include "cli/event_printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "demo/relay_process.h"
#include "fakes/captured_stream.h"
#include "fakes/fake_clock.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr std::string_view kHostile = "a\"b\\c\nd\x1b[2J\xC2\x9B\xFF\t";

class EventPrinterTest : public ::testing::Test {
 protected:
  std::string Print(const Delivery& delivery, bool json) {
    const testing::CapturedStream captured(stdout);
    EventPrinter(json, clock_).Print(delivery, clock_.WallNow() - Micros(1'500));
    return captured.Text();
  }
  std::string Text(const Delivery& delivery) { return Print(delivery, false); }
  std::string Json(const Delivery& delivery) { return Print(delivery, true); }

  testing::FakeClock clock_;
};

TEST_F(EventPrinterTest, TextIsOneReadableLine) {
  const Header headers[] = {{"id", "7"}, {"trace_id", std::nullopt}};
  EXPECT_EQ(Text({.topic = "t", .partition = 2, .offset = 9, .key = "k", .headers = headers}),
            "2026-11-20T00:16:39.998500Z    1.5 ms  t[2]@9  key=k  id=7  trace_id=NULL\n");
  EXPECT_THAT(Text({.topic = "t"}), HasSubstr("key=NULL\n"));
}

TEST_F(EventPrinterTest, JsonIsOneLine) {
  const Header headers[] = {{"id", "7"}, {"id", std::nullopt}, {"", ""}};
  EXPECT_EQ(Json({.topic = "t", .partition = 2, .offset = 9, .key = "k", .headers = headers}),
            R"({"committed":"2026-11-20T00:16:39.998500Z","latency_us":1500,"topic":"t",)"
            R"("partition":2,"offset":9,"key":"k","headers":[["id","7"],["id",null],["",""]]})"
            "\n");
  EXPECT_THAT(Json({.topic = "t"}), HasSubstr(R"("key":null,"headers":[]})"));
}

TEST_F(EventPrinterTest, LatencyEndsWithTheAcknowledgement) {
  EXPECT_THAT(Json({.report_delay = Micros(500), .topic = "t"}),
              HasSubstr(R"("latency_us":1000,)"));
}

TEST_F(EventPrinterTest, HostileRowIsEscaped) {
  const Header headers[] = {{kHostile, kHostile}};
  for (const bool json : {false, true}) {
    const std::string line = Print({.topic = kHostile, .key = kHostile, .headers = headers}, json);
    EXPECT_EQ(line.find_first_of("\n\x1b\t"), line.size() - 1) << line;
    EXPECT_THAT(line, Not(HasSubstr("\xC2\x9B")));
  }
}

TEST_F(EventPrinterTest, LongKeysAreTruncatedInTextOnly) {
  const std::string key(10'000, 'k');
  EXPECT_LT(Text({.topic = "t", .key = key}).size(), 300u);
  EXPECT_GT(Json({.topic = "t", .key = key}).size(), 10'000u);
}

TEST_F(EventPrinterTest, PrintedJsonIsParsedBack) {
  const Header headers[] = {{"id", "7"}, {"event_type", "a \"b\""}};
  const auto event = ParsePublishedEvent(
      Json({.topic = "t", .partition = 2, .offset = 9, .key = "k\n1", .headers = headers}));
  ASSERT_TRUE(event);
  EXPECT_EQ(Rfc3339(event->committed), "2026-11-20T00:16:39.998500Z");
  EXPECT_EQ(event->latency, Micros(1'500));
  EXPECT_EQ(event->topic, "t");
  EXPECT_EQ(event->partition, 2);
  EXPECT_EQ(event->offset, 9);
  EXPECT_EQ(event->key, "k\n1");
  EXPECT_THAT(event->headers, ElementsAre(Pair("id", "7"), Pair("event_type", "a \"b\"")));
}

TEST_F(EventPrinterTest, HostileRowIsParsedBackAsOneEvent) {
  const Header headers[] = {{kHostile, kHostile}};
  const auto event =
      ParsePublishedEvent(Json({.topic = "t", .offset = 3, .key = kHostile, .headers = headers}));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->offset, 3);
  EXPECT_EQ(event->headers.size(), 1u);
}

}  // namespace
}  // namespace walrelay
