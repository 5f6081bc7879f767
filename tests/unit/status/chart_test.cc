#include "status/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

size_t Count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(ChartTest, EmptyChartHasNoLine) {
  EXPECT_THAT(ChartSvg({}, 1, "lag"),
              AllOf(HasSubstr("aria-label=\"lag\""), Not(HasSubstr("path"))));
}

TEST(ChartTest, GreatestValueReachesTheTopAndZeroTheBottom) {
  EXPECT_THAT(ChartSvg({{0, 0.0}, {0.5, 10.0}, {1, 5.0}}, 1, "x"),
              HasSubstr("M0.0 120.0L300.0 6.0L600.0 63.0"));
}

TEST(ChartTest, SmallValuesAreNotScaledUp) {
  EXPECT_THAT(ChartSvg({{0, 1.0}}, 114, "x"), HasSubstr("M0.0 119.0"));
}

TEST(ChartTest, MissingValueBreaksTheLine) {
  const std::string svg = ChartSvg({{0, 1.0}, {0.2, 1.0}, {0.3, std::nullopt}, {0.9, 1.0}}, 1, "x");
  EXPECT_EQ(Count(svg, "class=\"line\""), 2u);
}

TEST(ChartTest, PointsOutsideTheRangeAreClamped) {
  EXPECT_THAT(ChartSvg({{-0.5, -3.0}, {7, 1.0}}, 1, "x"), HasSubstr("M0.0 120.0L600.0 6.0"));
}

}  // namespace
}  // namespace walrelay
