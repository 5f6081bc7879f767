#include "publish/record_ages.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {

void RecordAges::Note(std::string_view topic, std::optional<WallTime> time) {
  auto found = topics_.find(topic);
  if (found == topics_.end()) {
    if (topics_.size() >= kMostTopics) {
      ++uncompared_;
      return;
    }
    found = topics_.try_emplace(std::string(topic)).first;
  }
  ++found->second.records;
  if (!time) {
    return;
  }
  auto& hours = found->second.by_hour;
  // Infinite times of rows are about as old, or as new.
  constexpr WallTime kLatest = WallTime(std::chrono::years(200));
  const auto hour = std::chrono::floor<std::chrono::hours>(std::clamp(*time, WallTime(), kLatest));
  const auto next = hours.lower_bound(hour);
  if (next != hours.end() && next->first == hour) {
    ++next->second;
  } else if (hours_ < kMostHours || hours.empty()) {
    ++hours_;
    hours.emplace_hint(next, hour, 1);
  } else if (next != hours.begin()) {
    ++std::prev(next)->second;
  } else {
    auto oldest = hours.extract(next);
    oldest.key() = hour;
    ++oldest.mapped();
    hours.insert(std::move(oldest));
  }
}

std::vector<std::string> RecordAges::topics() const {
  std::vector<std::string> names;
  for (const auto& [name, ages] : topics_) {
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<DeletedAtOnce> RecordAges::DeletedBy(
    const std::map<std::string, Micros, std::less<>>& kept, WallTime now) const {
  std::vector<DeletedAtOnce> all;
  for (const auto& [topic, duration] : kept) {
    const auto found = topics_.find(topic);
    if (found == topics_.end()) {
      continue;
    }
    DeletedAtOnce deleted{.topic = topic, .kept = duration, .of = found->second.records};
    for (const auto& [hour, records] : found->second.by_hour) {
      if (now - hour > duration) {
        deleted.records += records;
      }
    }
    if (deleted.records > 0) {
      all.push_back(deleted);
    }
  }
  return all;
}

std::string Describe(const DeletedAtOnce& deleted) {
  return fmt::format("{} of {} record{} for topic {}: older than the {} for which it keeps records",
                     deleted.records, deleted.of, deleted.of == 1 ? "" : "s",
                     Printable(deleted.topic, 160), FormatDuration(deleted.kept));
}

absl::StatusOr<std::vector<DeletedAtOnce>> ReadDeletedAtOnce(SinkFactory& sinks,
                                                             const RecordAges& ages, WallTime now) {
  const std::vector<std::string> topics = ages.topics();
  if (topics.empty()) {
    return std::vector<DeletedAtOnce>();
  }
  if (ages.uncompared() > 0) {
    return Error(ErrorCode::kKeptTooShortly,
                 fmt::format("{} records are for more topics than the {} that are compared: it is "
                             "not known whether Kafka keeps them",
                             ages.uncompared(), RecordAges::kMostTopics));
  }
  constexpr Micros kTimeout = std::chrono::seconds(15);
  WR_ASSIGN_OR_RETURN(const auto kept, sinks.ReadRetention(topics, kTimeout));
  return ages.DeletedBy(kept, now);
}

}  // namespace walrelay
