#include "status/fleet_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_samples.h"

namespace walrelay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Samples;

FleetReport TwoPipelines() {
  FleetReport report{.version = "0.1.0", .now = Samples().at("streaming").now};
  report.pipelines = {{"orders", Samples().at("streaming")},
                      {"payments", Samples().at("slot_almost_lost")}};
  return report;
}

TEST(FleetReportTest, TextHasALinePerPipelineTheWorstFirst) {
  const std::string text = FleetText(TwoPipelines());
  EXPECT_TRUE(text.starts_with("1 of 2 pipelines ready\n  payments")) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("WR-2108 the slot is close to its WAL limit"),
                          HasSubstr("\n  orders    streaming")));
}

TEST(FleetReportTest, PageLinksToEachPipeline) {
  const std::string page = FleetPage(TwoPipelines());
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>1 of 2 pipelines ready</h1>"),
                          HasSubstr("<section class=\"state bad\">"),
                          HasSubstr("<a href=\"status/orders\">orders</a>")));
}

TEST(FleetReportTest, JsonHasTheStatusOfEachPipeline) {
  const std::string json = FleetJson(TwoPipelines());
  EXPECT_THAT(json, AllOf(HasSubstr("\"ready\":false"),
                          HasSubstr("{\"name\":\"orders\",\"status\":{"), Not(HasSubstr("\n}"))));
  EXPECT_TRUE(json.ends_with("\n"));
}

TEST(FleetReportTest, HostileTextIsEscaped) {
  FleetReport report{.version = "0.1.0", .now = Samples().at("hostile").now};
  report.pipelines = {{"a", Samples().at("hostile")}};
  EXPECT_THAT(FleetPage(report), Not(HasSubstr("<script>alert")));
}

TEST(FleetReportTest, FleetWithoutPipelinesIsReady) {
  EXPECT_EQ(FleetText({.version = "0.1.0"}), "0 of 0 pipelines ready\n");
}

}  // namespace
}  // namespace walrelay
