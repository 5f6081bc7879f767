#include "stream/xid_horizons.h"

#include "base/check.h"

namespace walrelay {
namespace {

constexpr Micros kReadInterval = std::chrono::seconds(10);
// Two minutes of readings; a frontier that is further behind keeps the older ones.
constexpr size_t kMostWaiting = 12;
// The age by which a kept horizon must differ from the next older one to replace it.
constexpr std::array<Micros, 4> kSpacing = {Micros(0), std::chrono::minutes(1),
                                            std::chrono::minutes(10), std::chrono::hours(1)};

}  // namespace

void XidHorizons::Restore(std::span<const XidHorizon> recorded) {
  WR_CHECK(recorded.size() <= kKept, "a record keeps at most four horizons");
  Clear();
  restored_ = true;
  for (size_t i = 0; i < recorded.size(); ++i) {
    kept_[recorded.size() - 1 - i] = recorded[i];
  }
}

void XidHorizons::ForgetAfter(Lsn fork) {
  std::vector<XidHorizon> valid;
  for (const XidHorizon& horizon : kept()) {
    if (horizon.insert_lsn <= fork) {
      valid.push_back(horizon);
    }
  }
  Restore(valid);
}

void XidHorizons::Add(const XidHorizon& horizon) {
  const std::optional<XidHorizon> last = waiting_.empty() ? kept_.front() : waiting_.back();
  // A reading that goes back comes from another server.
  const bool due = !last || ((restored_ || horizon.taken - last->taken >= kReadInterval) &&
                             horizon.xid >= last->xid && horizon.insert_lsn >= last->insert_lsn);
  if (due && waiting_.size() < kMostWaiting) {
    restored_ = false;
    waiting_.push_back(horizon);
  }
}

void XidHorizons::Pass(Lsn frontier) {
  while (!waiting_.empty() && waiting_.front().insert_lsn <= frontier) {
    Keep(0, waiting_.front());
    waiting_.pop_front();
  }
}

// Each level passes its horizon on to the next one, which takes it when its own is old enough.
void XidHorizons::Keep(size_t level, const XidHorizon& horizon) {
  if (level == kKept) {
    return;
  }
  std::optional<XidHorizon>& kept = kept_[level];
  if (kept && horizon.taken - kept->taken < kSpacing[level]) {
    return;
  }
  if (kept) {
    Keep(level + 1, *kept);
  }
  kept = horizon;
}

std::vector<XidHorizon> XidHorizons::kept() const {
  std::vector<XidHorizon> ascending;
  for (auto level = kept_.rbegin(); level != kept_.rend(); ++level) {
    if (*level) {
      ascending.push_back(**level);
    }
  }
  return ascending;
}

}  // namespace walrelay
