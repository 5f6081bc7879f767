#include "status/throughput.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(ThroughputTest, PaceIsThatOfTheLastMinute) {
  std::vector<HistoryPoint> history(
      6, {.span = seconds(10), .events = 100, .median = Micros(7), .slowest = Micros(9)});
  history.insert(history.begin(), {.span = seconds(10), .events = 9'000, .median = seconds(1)});
  const auto pace = ThroughputOf(history);
  ASSERT_TRUE(pace);
  EXPECT_EQ(pace->events_per_second, 10);
  EXPECT_EQ(pace->median, Micros(7));
  EXPECT_EQ(ThroughputOf({}), std::nullopt);
}

TEST(ThroughputTest, StagesAreReportedAndTheWritersShareIsNamed) {
  const auto words = [](std::optional<StageMedians> stages) {
    return StageWords(*ThroughputOf({{.span = seconds(10), .stages = stages}}));
  };
  EXPECT_EQ(words(std::nullopt), "");
  EXPECT_EQ(words(StageMedians{Micros(310), Micros(95), Micros(400)}),
            "Postgres 310 µs, walrelay and the network 95 µs, Kafka 400 µs");
  EXPECT_THAT(words(StageMedians{milliseconds(110), Micros(95), Micros(400)}),
              HasSubstr("synchronous_commit = off"));
}

}  // namespace
}  // namespace walrelay
