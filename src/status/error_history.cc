#include "status/error_history.h"

#include <algorithm>

#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr size_t kMost = 8;

}  // namespace

// Messages of the same code differ in positions and numbers; the latest one is kept.
void ErrorHistory::Add(const absl::Status& error, WallTime now) {
  const auto same = std::find_if(errors_.begin(), errors_.end(), [&](const PastError& past) {
    return CodeOf(past.error) == CodeOf(error);
  });
  PastError entry{.error = error, .first = now, .last = now};
  if (same != errors_.end()) {
    entry.first = same->first;
    entry.times = same->times + 1;
    errors_.erase(same);
  } else if (errors_.size() >= kMost) {
    errors_.pop_back();
  }
  errors_.insert(errors_.begin(), std::move(entry));
}

}  // namespace walrelay
