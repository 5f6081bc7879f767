#include "metrics/latency_metric.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <optional>
#include <string>
#include <vector>

namespace walrelay {
namespace {

using std::chrono::seconds;

class LatencyMetricTest : public ::testing::Test {
 protected:
  // The only series; nullopt while there is none.
  std::optional<prometheus::ClientMetric::Histogram> Series() {
    const std::vector<prometheus::MetricFamily> families = family_.Collect();
    if (families.empty() || families[0].metric.empty()) {
      return std::nullopt;
    }
    EXPECT_EQ(families[0].metric.size(), 1u);
    return families[0].metric[0].histogram;
  }
  // The number of observations up to `bound` seconds.
  uint64_t UpTo(double bound) {
    const auto series = Series().value();
    for (const auto& bucket : series.bucket) {
      if (bucket.upper_bound == bound) {
        return bucket.cumulative_count;
      }
    }
    ADD_FAILURE() << "no bucket " << bound;
    return 0;
  }

  prometheus::Family<prometheus::Histogram> family_{"latency_seconds", "Latency", {}};
  const prometheus::Labels pipeline_{{"slot", "orders"}};
};

TEST_F(LatencyMetricTest, LatencyIsCountedInItsBucket) {
  LatencyMetric metric(family_, pipeline_);
  metric.Observe(Micros(-1));
  metric.Observe(Micros(500));
  metric.Observe(seconds(2));
  metric.Observe(seconds(100'000));
  metric.Flush();
  EXPECT_EQ(UpTo(0.0005), 2u);
  EXPECT_EQ(UpTo(1), 2u);
  EXPECT_EQ(UpTo(2.5), 3u);
  EXPECT_EQ(UpTo(3600), 3u);
  EXPECT_EQ(Series()->sample_count, 4u);
  EXPECT_EQ(Series()->sample_sum, 100'002.0005);
}

TEST_F(LatencyMetricTest, SeriesBeginsAtTheFirstFlushWithAnObservation) {
  LatencyMetric metric(family_, pipeline_);
  metric.Flush();
  EXPECT_FALSE(Series());
  metric.Observe(seconds(1));
  EXPECT_FALSE(Series());
  metric.Flush();
  metric.Flush();
  EXPECT_EQ(Series()->sample_count, 1u);
}

TEST_F(LatencyMetricTest, EachValueOfTheLabelHasItsOwnSeries) {
  LabelledLatencyMetric metric(family_, pipeline_, "stage");
  LatencyMetric& first = metric["kafka"];
  metric["kafka"].Observe(seconds(1));
  metric["relay"].Observe(seconds(2));
  EXPECT_EQ(&metric["kafka"], &first);
  metric.Flush();
  const prometheus::MetricFamily collected = family_.Collect()[0];
  EXPECT_EQ(collected.metric.size(), 2u);
  for (const auto& series : collected.metric) {
    ASSERT_EQ(series.label.size(), 2u);
    EXPECT_EQ(series.label[0].value, "orders");
  }
  metric.Clear();
  EXPECT_TRUE(family_.Collect().empty() || family_.Collect()[0].metric.empty());
}

TEST_F(LatencyMetricTest, ClearForgetsWhatWasNotFlushed) {
  LatencyMetric metric(family_, pipeline_);
  metric.Observe(seconds(1));
  metric.Flush();
  metric.Observe(seconds(1));
  metric.Clear();
  EXPECT_FALSE(Series());
  metric.Observe(seconds(1));
  metric.Flush();
  EXPECT_EQ(Series()->sample_count, 1u);
}

}  // namespace
}  // namespace walrelay
