#include "daemon/failure_history.h"

#include <algorithm>
#include <utility>

namespace walrelay {
namespace {

// A row that a pipeline cannot handle fails again at once, because the slot sends it again.
// Something rare does not recur within an hour.
constexpr Micros kWindow = std::chrono::hours(1);

}  // namespace

bool FailureHistory::OnFailed(FailureReport report, MonoTime now) {
  unknown_.clear();
  for (Entry& each : entries_) {
    each.failure.is_latest = false;
  }
  if (!report.pipeline) {
    unknown_ = std::move(report.what);
    const auto before = std::exchange(unknown_at_, now);
    return !before || now - *before >= kWindow;
  }
  auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
    return each.failure.pipeline == *report.pipeline;
  });
  const bool is_new = entry == entries_.end();
  if (is_new) {
    entry = entries_.insert(entry, Entry{.failure = {.pipeline = *std::move(report.pipeline)}});
  }
  entry->failure.isolated = !is_new && now - entry->at < kWindow;
  entry->failure.what = std::move(report.what);
  entry->failure.times += 1;
  entry->failure.is_latest = true;
  entry->at = now;
  return true;
}

void FailureHistory::OnReleased(const PipelineIdentity& pipeline, MonoTime now) {
  for (Entry& each : entries_) {
    if (each.failure.pipeline == pipeline && each.failure.isolated) {
      each.failure.isolated = false;
      each.at = now;
    }
  }
}

std::vector<PipelineFailure> FailureHistory::pipelines() const {
  std::vector<PipelineFailure> failures;
  for (const Entry& each : entries_) {
    failures.push_back(each.failure);
  }
  return failures;
}

}  // namespace walrelay
