#include "demo/expected_events.h"

#include <fmt/format.h>

#include <set>

namespace walrelay {
namespace {

std::string HeaderOf(const StoredRecord& record, std::string_view name) {
  for (const auto& [header, value] : record.headers) {
    if (header == name) {
      return value.value_or("");
    }
  }
  return "";
}

// PayloadOf() uses the spacing with which Postgres prints jsonb, so the values can be compared.
bool Matches(const StoredRecord& record, const ExpectedEvent& event) {
  return record.key == event.aggregate_id && HeaderOf(record, "event_type") == event.event_type &&
         record.value == PayloadOf(event);
}

}  // namespace

std::string PayloadOf(const ExpectedEvent& event) {
  return fmt::format(R"({{"number": {}, "aggregate": "{}"}})", event.number, event.aggregate_id);
}

void ExpectedEvents::Committed(const std::vector<ExpectedEvent>& events) {
  const std::lock_guard lock(mutex_);
  ++transactions_;
  for (const ExpectedEvent& event : events) {
    events_.emplace(event.id, event);
    last_numbers_[event.aggregate_id] = event.number;
  }
}

void ExpectedEvents::RolledBack(size_t events) {
  const std::lock_guard lock(mutex_);
  ++rolled_back_transactions_;
  rolled_back_events_ += events;
}

size_t ExpectedEvents::committed() const {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

size_t ExpectedEvents::transactions() const {
  const std::lock_guard lock(mutex_);
  return transactions_;
}

size_t ExpectedEvents::transactions_rolled_back() const {
  const std::lock_guard lock(mutex_);
  return rolled_back_transactions_;
}

uint64_t ExpectedEvents::NextNumber(const std::string& aggregate_id) const {
  const std::lock_guard lock(mutex_);
  const auto last = last_numbers_.find(aggregate_id);
  return last == last_numbers_.end() ? 1 : last->second + 1;
}

Verdict ExpectedEvents::Verify(const std::vector<StoredRecord>& records) const {
  const std::lock_guard lock(mutex_);
  Verdict verdict{.committed = events_.size(),
                  .rolled_back = rolled_back_events_,
                  .records = records.size(),
                  .keys = last_numbers_.size()};
  std::set<std::string> seen;
  std::map<std::string, uint64_t> last_seen;  // by key
  for (const StoredRecord& record : records) {
    const auto event = events_.find(HeaderOf(record, "id"));
    if (event == events_.end()) {
      // Nothing but committed events is expected in the topics, which belong to this run alone.
      ++verdict.phantoms;
      continue;
    }
    verdict.damaged += Matches(record, event->second) ? 0U : 1U;
    if (!seen.insert(event->first).second) {
      ++verdict.duplicates;
      continue;
    }
    // Only first appearances count for the order: after a restart the relay repeats a run of events
    // in their order, which is what at-least-once delivery promises.
    uint64_t& last = last_seen[event->second.aggregate_id];
    verdict.disordered += event->second.number == last + 1 ? 0U : 1U;
    last = event->second.number;
  }
  verdict.lost = events_.size() - seen.size();
  return verdict;
}

}  // namespace walrelay
