#include "status/latency_window.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::hours;

TEST(LatencyWindowTest, EmptyWindowHasNoQuantile) {
  EXPECT_EQ(LatencyWindow().Quantile(0.5), std::nullopt);
  EXPECT_EQ(LatencyWindow().Quantile(0), std::nullopt);
}

TEST(LatencyWindowTest, QuantileIsAccurateToAnEighth) {
  for (int64_t micros = 64; micros < 10'000'000'000; micros = micros * 3 / 2) {
    LatencyWindow window;
    window.Add(Micros(micros));
    const auto found = static_cast<double>(window.Quantile(0.5)->count());
    EXPECT_NEAR(found / static_cast<double>(micros), 1, 0.13) << micros;
  }
}

TEST(LatencyWindowTest, QuantilesDivideTheLatencies) {
  LatencyWindow window;
  for (int i = 1; i <= 1000; ++i) {
    window.Add(Micros(i * 1000));
  }
  EXPECT_NEAR(static_cast<double>(window.Quantile(0.5)->count()), 500'000, 65'000);
  EXPECT_NEAR(static_cast<double>(window.Quantile(0.99)->count()), 990'000, 130'000);
  EXPECT_EQ(window.count(), 1000u);
}

// With clocks that disagree or a suspended machine, every latency is possible.
TEST(LatencyWindowTest, ExtremeLatenciesAreAccepted) {
  LatencyWindow window;
  for (const Micros latency : {Micros(-5), Micros(0), Micros(1), Micros(hours(24 * 365))}) {
    window.Add(latency);
  }
  EXPECT_LE(*window.Quantile(0), Micros(2));
  EXPECT_GT(*window.Quantile(1), hours(10));
}

TEST(LatencyWindowTest, ClearRemovesAllLatencies) {
  LatencyWindow window;
  window.Add(Micros(7));
  window.Clear();
  EXPECT_EQ(window.count(), 0u);
  EXPECT_EQ(window.Quantile(0.5), std::nullopt);
}

}  // namespace
}  // namespace walrelay
