#include "stream/xid_snapshot.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace walrelay {
namespace {

// The 64-bit xid with these low bits that is nearest to `near`.
// Unambiguous within half of the 32-bit range on each side.
uint64_t Widen(uint32_t xid, uint64_t near) {
  const auto distance = static_cast<int32_t>(xid - static_cast<uint32_t>(near));
  return near + static_cast<uint64_t>(int64_t{distance});
}

// Consumes a number and the `separator` after it from the front of `text`.
std::optional<uint64_t> TakeNumber(std::string_view& text, char separator) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) {
    return std::nullopt;
  }
  WR_CHECK(end != text.data(), "a number has a digit");
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.empty()) {
    if (text.front() != separator) {
      return std::nullopt;
    }
    text.remove_prefix(1);
  }
  return number;
}

}  // namespace

bool HasEnded(const XidSnapshot& snapshot, uint32_t xid) {
  WR_CHECK(snapshot.xmin <= snapshot.xmax, "a snapshot's range is in order");
  WR_CHECK(snapshot.in_progress.empty() || snapshot.in_progress.back() < snapshot.xmax,
           "running transactions are within the snapshot's range");
  WR_CHECK(snapshot.in_progress.empty() || snapshot.in_progress.front() >= snapshot.xmin,
           "transactions before xmin have ended");
  const uint64_t full = Widen(xid, snapshot.xmax);
  WR_CHECK(static_cast<uint32_t>(full) == xid, "a widened xid keeps its low bits");
  return full < snapshot.xmax &&
         !std::binary_search(snapshot.in_progress.begin(), snapshot.in_progress.end(), full);
}

// Strict, although the text comes from Postgres: a connection pooler or a proxy may answer in its
// place, and a snapshot that was misread would let a transaction pass too early.
std::optional<XidSnapshot> ParseSnapshot(std::string_view text) {
  // "7:9:" and "7:9:7,8": both colons are required, a comma only between xids.
  if (std::count(text.begin(), text.end(), ':') != 2 || text.ends_with(',')) {
    return std::nullopt;
  }
  const auto xmin = TakeNumber(text, ':');
  const auto xmax = xmin ? TakeNumber(text, ':') : std::nullopt;
  if (!xmax || *xmax < *xmin) {
    return std::nullopt;
  }
  XidSnapshot snapshot{.xmin = *xmin, .xmax = *xmax, .in_progress = {}};
  while (!text.empty()) {
    const auto xid = TakeNumber(text, ',');
    // Ascending and within the range, as HasEnded() requires for its binary search.
    const uint64_t least = snapshot.in_progress.empty() ? *xmin : snapshot.in_progress.back() + 1;
    if (!xid || *xid < least || *xid >= *xmax) {
      return std::nullopt;
    }
    snapshot.in_progress.push_back(*xid);
  }
  WR_CHECK(snapshot.in_progress.size() <= snapshot.xmax - snapshot.xmin,
           "running transactions are distinct and within the snapshot's range");
  return snapshot;
}

}  // namespace walrelay
