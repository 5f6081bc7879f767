// The parser of the events that the relay prints. cli/event_printer_test.cc passes it printed
// lines.
#include "demo/relay_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace walrelay {
namespace {

using ::testing::IsEmpty;

TEST(PublishedEventTest, OtherLinesAreNotEvents) {
  for (const char* line : {"", " ", "[]", "7", "null", "\"text\"", "walrelay: stopped", "{"}) {
    EXPECT_FALSE(ParsePublishedEvent(line)) << line;
  }
}

TEST(PublishedEventTest, MissingAndMistypedFieldsAreEmpty) {
  const auto event = ParsePublishedEvent(
      R"({"topic":7,"partition":"x","offset":1.5,"key":null,"headers":[7,["a"],["b",null]]})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->topic, "");
  EXPECT_EQ(event->partition, 0);
  EXPECT_EQ(event->offset, 0);
  EXPECT_EQ(event->key, "");
  EXPECT_THAT(ParsePublishedEvent(R"({"headers":{}})")->headers, IsEmpty());
}

TEST(PublishedEventTest, TruncatedAndCorruptedLinesDoNotCrash) {
  const std::string line =
      R"({"committed":"c","latency_us":1,"topic":"t","partition":2,"offset":9,"key":"k",)"
      R"("headers":[["id","7"],["a",null]]})";
  for (size_t length = 0; length < line.size(); ++length) {
    (void)ParsePublishedEvent(line.substr(0, length));
  }
  std::mt19937_64 random(11);
  for (int round = 0; round < 5'000; ++round) {
    std::string flipped = line;
    flipped[random() % flipped.size()] = static_cast<char>(random());
    (void)ParsePublishedEvent(flipped);
  }
}

}  // namespace
}  // namespace walrelay
