#include "status/error_history.h"

#include <algorithm>

#include "base/check.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// More would not fit on a page, and the log has them all.
constexpr size_t kMax = 8;

}  // namespace

// Messages of the same code differ in positions and numbers; the latest one is kept.
void ErrorHistory::Add(const absl::Status& error, WallTime now) {
  WR_CHECK(!error.ok(), "only an error is remembered");
  const auto same = std::find_if(errors_.begin(), errors_.end(), [&](const PastError& past) {
    return CodeOf(past.error) == CodeOf(error);
  });
  PastError entry{.error = error, .first = now, .last = now};
  if (same != errors_.end()) {
    entry.first = same->first;
    entry.times = same->times + 1;
    errors_.erase(same);
  } else if (errors_.size() >= kMax) {
    errors_.pop_back();
  }
  // The most recent error first. When the list is full, the one that occurred longest ago is
  // dropped.
  errors_.insert(errors_.begin(), std::move(entry));
}

}  // namespace walrelay
