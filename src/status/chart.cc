#include "status/chart.h"

#include <fmt/format.h>

#include <algorithm>

namespace walrelay {
namespace {

// Units of the viewBox; the browser scales the chart to its width.
constexpr double kWidth = 600;
constexpr double kHeight = 120;
constexpr double kRoomAbove = 6;  // space for half of the line width

// Draws one section without a gap: the area and the line above it.
// Nothing is drawn where nothing was measured: a line to 0 would look like a measurement.
void AppendStretch(const std::vector<std::pair<double, double>>& stretch, std::string& out) {
  if (stretch.empty()) {
    return;
  }
  std::string line;
  for (const auto& [x, y] : stretch) {
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x, y);
  }
  out += fmt::format(R"(<path class="area" d="{}L{:.1f} {} L{:.1f} {}Z"/>)", line,
                     stretch.back().first, kHeight, stretch.front().first, kHeight);
  out += fmt::format(R"(<path class="line" d="{}"/>)", line);
}

}  // namespace

// The axis has a minimum, so that noise does not fill the chart.
std::string ChartSvg(const std::vector<ChartPoint>& points, double least_top,
                     std::string_view label) {
  double top = least_top;
  for (const ChartPoint& point : points) {
    top = std::max(top, point.y.value_or(0));
  }
  std::string out = fmt::format(
      R"(<svg viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">)", kWidth,
      kHeight, label);
  std::vector<std::pair<double, double>> stretch;
  for (const ChartPoint& point : points) {
    // An interval without a measurement ends the section; the next point begins another one.
    if (!point.y) {
      AppendStretch(stretch, out);
      stretch.clear();
      continue;
    }
    // In SVG y grows downwards: the line of a value of 0 is at kHeight.
    const double share = top > 0 ? std::max(*point.y, 0.0) / top : 0;
    stretch.emplace_back(std::clamp(point.x, 0.0, 1.0) * kWidth,
                         kHeight - share * (kHeight - kRoomAbove));
  }
  AppendStretch(stretch, out);
  return out + "</svg>";
}

}  // namespace walrelay
