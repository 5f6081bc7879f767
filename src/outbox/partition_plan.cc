#include "outbox/partition_plan.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

namespace walrelay {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::months;
using std::chrono::sys_days;
using std::chrono::year_month_day;

// NAMEDATALEN - 1.
constexpr size_t kMaxNameBytes = 63;

sys_days MondayOf(sys_days day) {
  return day - (std::chrono::weekday(day) - std::chrono::Monday);
}

sys_days FirstOfMonth(sys_days day) {
  const year_month_day date(day);
  return date.year() / date.month() / 1;
}

std::string TimeDigits(PartitionPeriod period, WallTime from) {
  const auto time = floor<std::chrono::seconds>(from);
  if (PeriodStart(period, from) != from) {
    return fmt::format("{:%Y%m%d%H%M%S}", time);
  }
  switch (period) {
    case PartitionPeriod::kHourly:
      return fmt::format("{:%Y%m%d%H}", time);
    case PartitionPeriod::kDaily:
    case PartitionPeriod::kWeekly:
      return fmt::format("{:%Y%m%d}", time);
    case PartitionPeriod::kMonthly:
      break;
  }
  return fmt::format("{:%Y%m}", time);
}

// At most `limit` bytes from the front, without a part of a character.
std::string_view Front(std::string_view text, size_t limit) {
  constexpr unsigned char kTopBits = 0xC0;
  constexpr unsigned char kContinuation = 0x80;
  if (text.size() <= limit) {
    return text;
  }
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & kTopBits) == kContinuation) {
    --limit;
  }
  return text.substr(0, limit);
}

std::string WithSuffix(std::string_view table, std::string_view suffix) {
  return fmt::format("{}{}", Front(table, kMaxNameBytes - suffix.size()), suffix);
}

// The partition that covers `time`, or nullptr.
const OutboxPartition* Covering(std::span<const OutboxPartition> existing, WallTime time) {
  const auto found = std::find_if(existing.begin(), existing.end(), [&](const auto& partition) {
    return !partition.is_default && partition.bounds.from <= time && time < partition.bounds.to;
  });
  return found == existing.end() ? nullptr : &*found;
}

// The start of the next partition after `time`, but at most `limit`.
WallTime NextStart(std::span<const OutboxPartition> existing, WallTime time, WallTime limit) {
  for (const OutboxPartition& partition : existing) {
    if (!partition.is_default && partition.bounds.from > time) {
      limit = std::min(limit, partition.bounds.from);
    }
  }
  return limit;
}

}  // namespace

WallTime PeriodStart(PartitionPeriod period, WallTime time) {
  const sys_days day = floor<days>(time);
  switch (period) {
    case PartitionPeriod::kHourly:
      return floor<hours>(time);
    case PartitionPeriod::kDaily:
      return day;
    case PartitionPeriod::kWeekly:
      return MondayOf(day);
    case PartitionPeriod::kMonthly:
      break;
  }
  return FirstOfMonth(day);
}

WallTime NextPeriod(PartitionPeriod period, WallTime time) {
  const WallTime start = PeriodStart(period, time);
  switch (period) {
    case PartitionPeriod::kHourly:
      return start + hours(1);
    case PartitionPeriod::kDaily:
      return start + days(1);
    case PartitionPeriod::kWeekly:
      return start + days(7);
    case PartitionPeriod::kMonthly:
      break;
  }
  return sys_days(year_month_day(floor<days>(start)) + months(1));
}

int UsualAhead(PartitionPeriod period) {
  switch (period) {
    case PartitionPeriod::kHourly:
      return 96;
    case PartitionPeriod::kDaily:
      return 7;
    case PartitionPeriod::kWeekly:
      return 3;
    case PartitionPeriod::kMonthly:
      break;
  }
  return 2;
}

std::vector<PartitionBounds> MissingPartitions(PartitionPeriod period, int ahead,
                                               std::span<const OutboxPartition> existing,
                                               WallTime now) {
  WallTime end = NextPeriod(period, now);
  for (int i = 0; i < ahead; ++i) {
    end = NextPeriod(period, end);
  }
  std::vector<PartitionBounds> missing;
  for (WallTime at = PeriodStart(period, now); at < end;) {
    if (const OutboxPartition* covering = Covering(existing, at)) {
      at = covering->bounds.to;
      continue;
    }
    const WallTime to = NextStart(existing, at, NextPeriod(period, at));
    missing.push_back({.from = at, .to = to});
    at = to;
  }
  return missing;
}

std::string DefaultPartitionName(std::string_view table) {
  return WithSuffix(table, "_default");
}

std::string PartitionName(std::string_view table, PartitionPeriod period, WallTime from) {
  return WithSuffix(table, "_p" + TimeDigits(period, from));
}

bool IsOlderThan(const OutboxPartition& partition, Micros keep, WallTime now) {
  // Not `to + keep`, which overflows for MAXVALUE.
  return !partition.is_default && !partition.never_dropped && partition.bounds.to <= now - keep;
}

}  // namespace walrelay
