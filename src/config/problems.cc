#include "config/problems.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/check.h"
#include "walrelay/error.h"

namespace walrelay {

void ConfigProblems::Add(const Origin& origin, std::string_view option, const absl::Status& error) {
  WR_CHECK(!error.ok(), "a problem is an error");
  if (!option.empty()) {
    options_.emplace(option);
  }
  found_.push_back({origin, origin.text.empty() ? error : Annotate(error, origin.text)});
}

bool ConfigProblems::Concern(std::string_view name) const {
  const auto inside = options_.lower_bound(std::string(name) + ".");
  return options_.contains(name) || (!name.empty() && inside != options_.end() &&
                                     inside->starts_with(std::string(name) + "."));
}

// The sort is stable: errors without a line keep the order in which they were found.
absl::Status ConfigProblems::ToStatus() const {
  if (found_.empty()) {
    return absl::OkStatus();
  }
  const auto position = [](const Problem& problem) {
    const uint32_t line = problem.origin.line;
    return std::tuple(line == 0 ? std::numeric_limits<uint32_t>::max() : line,
                      problem.origin.column);
  };
  std::vector<Problem> sorted = found_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Problem& a, const Problem& b) { return position(a) < position(b); });
  std::vector<absl::Status> errors;
  for (Problem& problem : sorted) {
    errors.push_back(std::move(problem.error));
  }
  return JoinErrors(errors);
}

}  // namespace walrelay
