#include "metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <thread>

#include "fakes/sole_metrics.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// --- the catalogue ---

TEST(MetricCatalogueTest, NamesFollowPrometheusConventions) {
  std::set<std::string_view> names;
  for (const MetricEntry& entry : Metrics::Catalogue()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_TRUE(entry.name.starts_with("walrelay_")) << entry.name;
    EXPECT_TRUE(std::all_of(entry.name.begin(), entry.name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || c == '_';
    })) << entry.name;
  }
}

TEST(MetricCatalogueTest, OnlyCountersEndInTotal) {
  for (const MetricEntry& entry : Metrics::Catalogue()) {
    EXPECT_EQ(entry.name.ends_with("_total"), entry.type == "counter") << entry.name;
    for (const char* suffix : {"_count", "_sum", "_bucket"}) {
      EXPECT_FALSE(entry.name.ends_with(suffix)) << "belongs to histograms: " << entry.name;
    }
  }
}

TEST(MetricCatalogueTest, UnitsAreBaseUnits) {
  for (const MetricEntry& entry : Metrics::Catalogue()) {
    for (const char* unit : {"_ms", "milli", "micro", "_kb", "_mb", "minutes", "percent"}) {
      EXPECT_EQ(entry.name.find(unit), std::string_view::npos) << entry.name;
    }
  }
}

TEST(MetricCatalogueTest, HelpIsOneSentence) {
  for (const MetricEntry& entry : Metrics::Catalogue()) {
    EXPECT_GT(entry.help.size(), 7u) << entry.name;
    EXPECT_FALSE(entry.help.ends_with('.')) << entry.name;
    EXPECT_EQ(entry.help.find_first_of("\n\\"), std::string_view::npos) << entry.name;
  }
}

// "source" and "slot" are labels of every series, and "le" is reserved for histograms.
TEST(MetricCatalogueTest, AdditionalLabelIsNotReserved) {
  for (const MetricEntry& entry : Metrics::Catalogue()) {
    EXPECT_TRUE(entry.label != "source" && entry.label != "slot" && entry.label != "le")
        << entry.name;
  }
}

// --- the page ---

class MetricsTest : public ::testing::Test {
 protected:
  // The value of a series on the page; "" if the series is absent.
  std::string ValueOf(const std::string& series) const {
    std::istringstream page(metrics_.Text());
    for (std::string line; std::getline(page, line);) {
      if (line.starts_with(series + " ")) {
        return line.substr(series.size() + 1);
      }
    }
    return "";
  }

  testing::SoleMetrics metrics_{{"db/shop", "orders"}};
};

TEST_F(MetricsTest, EverySeriesNamesSourceAndSlot) {
  metrics_.events_received->Increment(3);
  metrics_.events_published["outbox.event.order"].Increment();
  metrics_.slot_lag_bytes->Set(7);
  EXPECT_EQ(ValueOf(R"(walrelay_events_received_total{slot="orders",source="db/shop"})"), "3");
  EXPECT_EQ(ValueOf(R"(walrelay_slot_lag_bytes{slot="orders",source="db/shop"})"), "7");
  EXPECT_EQ(
      ValueOf(
          R"(walrelay_events_published_total{slot="orders",source="db/shop",topic="outbox.event.order"})"),
      "1");
}

// Two databases in one process: each family appears once, with the series of both.
TEST(MetricsRegistryTest, PipelinesShareTheFamilies) {
  MetricsRegistry registry;
  Metrics orders(registry, {"db1/shop", "orders"});
  Metrics same_slot(registry, {"db2/shop", "orders"});
  orders.events_received->Increment(3);
  same_slot.events_received->Increment(4);
  EXPECT_THAT(registry.Text(),
              AllOf(HasSubstr("events_received_total{slot=\"orders\",source=\"db1/shop\"} 3\n"),
                    HasSubstr("events_received_total{slot=\"orders\",source=\"db2/shop\"} 4\n")));
  const std::string type = "# TYPE walrelay_events_received_total ";
  const std::string text = registry.Text();
  EXPECT_NE(text.find(type), std::string::npos);
  EXPECT_EQ(text.find(type), text.rfind(type));
}

TEST(MetricsRegistryTest, PipelineThatEndsTakesItsSeriesAlong) {
  MetricsRegistry registry;
  Metrics stays(registry, {"db1/shop", "orders"});
  stays.state.SetOnly("streaming");
  {
    Metrics ends(registry, {"db2/shop", "orders"});
    ends.leader->Set(1);
    ends.state.SetOnly("streaming");
    ends.events_published["outbox.event.order"].Increment();
    ends.commit_to_ack_seconds.Observe(milliseconds(2));
    ends.stage_seconds["kafka"].Observe(milliseconds(1));
    ends.FlushLatencies();
    EXPECT_THAT(registry.Text(), HasSubstr("db2/shop"));
  }
  EXPECT_THAT(registry.Text(), AllOf(HasSubstr("db1/shop"), Not(HasSubstr("db2/shop"))));
}

TEST_F(MetricsTest, SeriesExistsFromFirstUseUntilCleared) {
  const std::string series = R"(walrelay_slot_safe_wal_bytes{slot="orders",source="db/shop"})";
  EXPECT_EQ(ValueOf(series), "");
  metrics_.slot_safe_wal_bytes->Set(1);
  EXPECT_EQ(ValueOf(series), "1");
  metrics_.slot_safe_wal_bytes.Clear();
  metrics_.slot_safe_wal_bytes.Clear();
  EXPECT_EQ(ValueOf(series), "");
  metrics_.slot_safe_wal_bytes->Set(2);
  EXPECT_EQ(ValueOf(series), "2");
}

TEST_F(MetricsTest, EveryMetricHasHelpAndTypeAsCatalogued) {
  metrics_.transactions["published"].Increment();
  metrics_.state.SetOnly("streaming");
  metrics_.commit_to_ack_seconds.Observe(milliseconds(2));
  metrics_.FlushLatencies();
  const std::string text = metrics_.Text();
  EXPECT_THAT(text, HasSubstr("# HELP walrelay_transactions_total Transactions received"));
  EXPECT_THAT(text, HasSubstr("# TYPE walrelay_transactions_total counter\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE walrelay_state gauge\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE walrelay_end_to_end_latency_seconds histogram\n"));
}

TEST_F(MetricsTest, SetOnlySetsOneStateAndClearsTheOthers) {
  metrics_.state.SetOnly("starting");
  metrics_.state.SetOnly("streaming");
  EXPECT_EQ(ValueOf(R"(walrelay_state{slot="orders",source="db/shop",state="starting"})"), "0");
  EXPECT_EQ(ValueOf(R"(walrelay_state{slot="orders",source="db/shop",state="streaming"})"), "1");
}

TEST_F(MetricsTest, LabelledMetricReturnsTheSameSeries) {
  EXPECT_EQ(metrics_.events_published.size(), 0u);
  prometheus::Counter& first = metrics_.events_published["a"];
  EXPECT_EQ(&metrics_.events_published["a"], &first);
  EXPECT_TRUE(metrics_.events_published.contains("a"));
  EXPECT_FALSE(metrics_.events_published.contains("b"));
  EXPECT_EQ(metrics_.events_published.size(), 1u);
}

TEST_F(MetricsTest, ARemovedSeriesIsNotExported) {
  metrics_.table_rows["a"].Set(1);
  metrics_.table_rows["b"].Set(2);
  metrics_.table_rows.Remove("a");
  metrics_.table_rows.Remove("a");
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("table=\"a\"")));
  EXPECT_THAT(metrics_.Text(), HasSubstr("table=\"b\""));
  metrics_.table_rows["a"].Set(3);
  EXPECT_THAT(metrics_.Text(), HasSubstr("table=\"a\"} 3"));
}

TEST_F(MetricsTest, HostileLabelValueIsEscaped) {
  metrics_.events_published["a\"} 1\nforged_total 7\\"].Increment();
  EXPECT_THAT(metrics_.Text(), HasSubstr(R"(topic="a\"} 1\nforged_total 7\\"} 1)"));
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("\nforged_total")));
}

TEST_F(MetricsTest, LatencyIsCountedInItsBucket) {
  const std::string bucket =
      R"(walrelay_end_to_end_latency_seconds_bucket{slot="orders",source="db/shop",le=)";
  metrics_.commit_to_ack_seconds.Observe(Micros(-1));
  metrics_.FlushLatencies();
  EXPECT_EQ(ValueOf(bucket + R"("0.0005"})"), "1");
  metrics_.commit_to_ack_seconds.Observe(Micros(500));
  metrics_.commit_to_ack_seconds.Observe(seconds(2));
  metrics_.commit_to_ack_seconds.Observe(seconds(100'000));
  EXPECT_EQ(ValueOf(bucket + R"("+Inf"})"), "1") << "before the flush";
  metrics_.FlushLatencies();
  metrics_.FlushLatencies();
  EXPECT_EQ(ValueOf(bucket + R"("0.0005"})"), "2");
  EXPECT_EQ(ValueOf(bucket + R"("1"})"), "2");
  EXPECT_EQ(ValueOf(bucket + R"("2.5"})"), "3");
  EXPECT_EQ(ValueOf(bucket + R"("3600"})"), "3");
  EXPECT_EQ(ValueOf(bucket + R"("+Inf"})"), "4");
  EXPECT_EQ(ValueOf(R"(walrelay_end_to_end_latency_seconds_sum{slot="orders",source="db/shop"})"),
            "100002.0005");
}

// A position above 2^53 loses its low bits; it must keep its magnitude.
TEST_F(MetricsTest, LargeNumbersKeepTheirMagnitude) {
  metrics_.source_wal_lsn->Set(static_cast<double>(uint64_t{1} << 62));
  EXPECT_THAT(ValueOf(R"(walrelay_source_wal_lsn{slot="orders",source="db/shop"})"),
              ::testing::AnyOf("4611686018427387904", "4.611686018427388e+18"));
}

// Under ThreadSanitizer this tests the locks.
TEST_F(MetricsTest, PageCanBeWrittenWhileSeriesChange) {
  std::thread relay([&] {
    for (int i = 0; i < 500; ++i) {
      metrics_.events_published[std::to_string(i % 50)].Increment();
      metrics_.slot_safe_wal_bytes->Set(i);
      metrics_.slot_safe_wal_bytes.Clear();
      metrics_.commit_to_ack_seconds.Observe(seconds(i));
      metrics_.FlushLatencies();
    }
  });
  for (int i = 0; i < 100; ++i) {
    (void)metrics_.Text();
  }
  relay.join();
  EXPECT_EQ(ValueOf(R"(walrelay_events_published_total{slot="orders",source="db/shop",topic="0"})"),
            "10");
}

}  // namespace
}  // namespace walrelay
