// Chart: one small area chart as inline SVG, without script.
//
// Pure. Numbers only go in, so nothing needs escaping.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace walrelay {

struct ChartPoint {
  double x = 0;             // 0: an hour ago, 1: now
  std::optional<double> y;  // absent: a gap
};

// `points` by x. The scale begins at 0 and ends at the greatest y, `least_top` at least. `label` is
// what the picture is called for those who do not see it.
std::string ChartSvg(const std::vector<ChartPoint>& points, double least_top,
                     std::string_view label);

}  // namespace walrelay
