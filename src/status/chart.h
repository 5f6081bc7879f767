// Chart: one small area chart as inline SVG, without script.
//
// Pure. The points are numbers, so nothing needs escaping.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace walrelay {

// A point of the chart; neighbours are joined by a line.
struct ChartPoint {
  double x = 0;             // 0: an hour ago, 1: now
  std::optional<double> y;  // absent: a gap
};

// `points` must be ordered by x. The y axis starts at 0 and ends at the greatest y, but at least at
// `least_top`. `label`: the aria-label.
// Negative values are drawn as 0, and x is limited to the chart. Without points the chart is empty.
// `label` must not need escaping: it is inserted as it is.
std::string ChartSvg(const std::vector<ChartPoint>& points, double least_top,
                     std::string_view label);

}  // namespace walrelay
