#include "dryrun/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/system_clock.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

// For reading all topics once.
constexpr seconds kKafkaTimeout{30};
constexpr seconds kReadInterval{1};
// One cause usually affects every record: more lines would say the same. All differences are
// counted.
constexpr size_t kMaxPrinted = 20;

std::string NameOf(const ExpectedRecord& record) {
  const std::string* const id = record.id();
  return fmt::format("{}  {}", Printable(record.topic, 249),
                     id != nullptr ? "id=" + Printable(*id, 80)
                                   : "key=" + Printable(record.key.value_or("NULL"), 80));
}

std::string PlaceOf(const StoredRecord& stored) {
  return fmt::format("[{}]@{}", stored.partition, stored.offset);
}

void EraseHeader(std::string_view name,
                 std::vector<std::pair<std::string, std::optional<std::string>>>& headers) {
  std::erase_if(headers,
                [name](const auto& header) { return !name.empty() && header.first == name; });
}

}  // namespace

Comparison::Comparison(SinkFactory& sinks, std::vector<ExpectedRecord> expected,
                       std::optional<WallTime> since, const std::string& ignored_header)
    : sinks_(sinks),
      since_(since),
      ignored_header_(ignored_header),
      expected_(std::move(expected)) {
  for (ExpectedRecord& record : expected_) {
    EraseHeader(ignored_header_, record.headers);
  }
  for (const ExpectedRecord& record : expected_) {
    topics_.push_back(record.topic);
  }
  std::sort(topics_.begin(), topics_.end());
  topics_.erase(std::unique(topics_.begin(), topics_.end()), topics_.end());
}

absl::Status Comparison::Find(Micros timeout) {
  const SystemClock clock;
  const MonoTime deadline = clock.Now() + timeout;
  while (true) {
    // Reads everything each time, which is simpler than to continue at the previous ends: a run of
    // `verify` covers a minute or a few rows.
    WR_ASSIGN_OR_RETURN(stored_, sinks_.ReadTopics(topics_, kKafkaTimeout, since_));
    for (StoredRecord& record : stored_) {
      EraseHeader(ignored_header_, record.headers);
    }
    Index();
    const bool all = std::all_of(expected_.begin(), expected_.end(),
                                 [this](const auto& record) { return Stored(record) != nullptr; });
    if (all || clock.Now() >= deadline) {
      return CountPartitions();
    }
    std::this_thread::sleep_for(kReadInterval);
  }
}

size_t Comparison::PrintDifferences() const {
  size_t different = 0;
  for (const ExpectedRecord& record : expected_) {
    const StoredRecord* const stored = Stored(record);
    const std::string difference =
        stored == nullptr ? "missing in the topic" : Differs(record, *stored);
    if (!difference.empty() && ++different <= kMaxPrinted) {
      fmt::print("{}  {}\n    {}\n", NameOf(record), stored != nullptr ? PlaceOf(*stored) : "",
                 difference);
    }
  }
  return different;
}

// Indexes the first record of each event: an event may be repeated.
void Comparison::Index() {
  index_.clear();
  for (const StoredRecord& record : stored_) {
    for (std::string& identity : IdentitiesOf(record)) {
      index_.try_emplace(std::move(identity), &record);
    }
  }
}

const StoredRecord* Comparison::Stored(const ExpectedRecord& record) const {
  const auto found = index_.find(IdentityOf(record));
  return found == index_.end() ? nullptr : found->second;
}

absl::Status Comparison::CountPartitions() {
  WR_ASSIGN_OR_RETURN(partitions_, sinks_.CountPartitions(topics_, kKafkaTimeout));
  return absl::OkStatus();
}

std::string Comparison::Differs(const ExpectedRecord& record, const StoredRecord& stored) const {
  const auto partitions = partitions_.find(record.topic);
  const bool known = record.key && partitions != partitions_.end() && partitions->second > 0;
  return DifferenceOf(
      record, stored,
      known ? std::optional(sinks_.PartitionOf(*record.key, partitions->second)) : std::nullopt);
}

}  // namespace walrelay
