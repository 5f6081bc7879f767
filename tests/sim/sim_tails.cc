#include "sim_tails.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "encode/position_header.h"
#include "mutant.h"

namespace walrelay::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// As TailReader.
constexpr int64_t kTailRecords = 200;
constexpr Micros kTailTimeout = seconds(10);
constexpr Micros kUntilLed = seconds(2);
constexpr Micros kTailPause = milliseconds(100);

}  // namespace

SimTails::SimTails(Context& context, SimKafka& kafka, WalHistory history, bool first, Later later)
    : context_(context),
      kafka_(kafka),
      history_(std::move(history)),
      first_(first),
      later_(std::move(later)) {}

bool SimTails::Awaits(const std::string& topic, int partitions) {
  Topic& asked = topics_[topic];
  if (asked.state == State::kUnread) {
    asked.state = State::kAsked;
    asked.asked = context_.now();
    asked.ends.resize(static_cast<size_t>(partitions));
    for (int i = 0; i < partitions; ++i) {
      asked.ends[static_cast<size_t>(i)].end = kafka_.partition(topic, i).end;
    }
    if (Mutant(MutantId::kTailOnlyOnce) && !first_) {
      asked.state = State::kSettled;
      return false;
    }
    later_(context_.random.Between(kafka_.latency, kafka_.latency_most),
           [this, topic] { Query(topic); });
  }
  return asked.state == State::kAsked && !Mutant(MutantId::kSendBeforeTail);
}

void SimTails::Forget(const std::string& topic) {
  Topic& changed = topics_[topic];
  changed.forgotten = changed.state == State::kAsked;
  changed.ends.clear();
  changed.state = changed.forgotten ? State::kSettled : changed.state;
}

absl::StatusOr<bool> SimTails::Contains(const std::string& topic, int partition,
                                        const RecordPosition& event) const {
  const auto found = topics_.find(topic);
  const auto index = static_cast<size_t>(partition);
  if (found == topics_.end() || index >= found->second.ends.size() ||
      event.history != history_.current() || event.routing != history_.routing) {
    return false;
  }
  const End& read = found->second.ends[index];
  if (Mutant(MutantId::kDeletedIsStored) && read.counts && read.end > 0 && read.begin == read.end) {
    return true;
  }
  return read.stored.Contains(event);
}

void SimTails::CheckSent(const std::string& topic, int partition, int event) const {
  const auto found = topics_.find(topic);
  const auto index = static_cast<size_t>(partition);
  if (found == topics_.end() || index >= found->second.ends.size() ||
      !found->second.ends[index].counts || found->second.connection != kafka_.changes()) {
    return;
  }
  const End& read = found->second.ends[index];
  const SimPartition& log = kafka_.partition(topic, partition);
  const auto is_part = [this](const RecordPosition& record) {
    return std::any_of(history_.parts.begin(), history_.parts.end(), [&](const auto& part) {
      return part.id == record.history && record.position.commit_lsn < part.end;
    });
  };
  for (int64_t i = std::max(read.begin, log.begin()); i < std::min(read.end, log.end); ++i) {
    const StoredRecord& record = log.at(i);
    if (record.event == event && record.header && is_part(record.header->record) &&
        record.header->record.routing == history_.routing &&
        record.header->partitions == found->second.ends.size()) {
      context_.oracle.Fail("I7 repetitions",
                           fmt::format("event {} is sent again to {}-{}, which had it when its end "
                                       "was read",
                                       event, topic, partition));
      return;
    }
  }
}

// --- the thread of the reader

// Whether no broker, or not every leader, responds, and the reader still waits for it.
bool SimTails::MustWait(const std::string& name, bool for_leaders, Micros limit) const {
  const Topic& topic = topics_.find(name)->second;
  const bool led = kafka_.leaderless < 0 ||
                   static_cast<size_t>(kafka_.leaderless) >= topic.ends.size() || !for_leaders;
  return (kafka_.down || !led) &&
         context_.now() < topic.asked + (kafka_.down ? kTailTimeout : limit);
}

void SimTails::Retry(const std::string& name, void (SimTails::*step)(const std::string&)) {
  later_(kTailPause, [this, name, step] { (this->*step)(name); });
}

void SimTails::Query(const std::string& name) {
  Topic& topic = topics_[name];
  const SimTopic& settings = kafka_.topic(name);
  if (topic.forgotten) {
    return;
  }
  if (MustWait(name, /*for_leaders=*/true, kUntilLed)) {
    return Retry(name, &SimTails::Query);
  }
  if (kafka_.down || !settings.exists || settings.denied) {
    return SettleUnread(name, "no broker, or no topic");
  }
  if (static_cast<size_t>(settings.partitions) != topic.ends.size()) {
    return SettleUnread(name, "another number of partitions");
  }
  topic.connection = kafka_.changes();
  for (size_t i = 0; i < topic.ends.size(); ++i) {
    const SimPartition& partition = kafka_.partition(name, static_cast<int>(i));
    End& read = topic.ends[i];
    read.counts = kafka_.leaderless != static_cast<int>(i);
    read.end = partition.end;
    read.begin = std::max(partition.begin(), partition.end - kTailRecords);
    read.epoch = partition.epoch;
    if (partition.end > 0 && partition.records.empty()) {
      context_.coverage.Count("an end has no records any more");
    }
    if (partition.end > kTailRecords) {
      context_.coverage.Count("an end is longer than what is read of it");
    }
  }
  later_(context_.random.Between(kafka_.latency, kafka_.latency_most),
         [this, name] { Read(name); });
}

void SimTails::Read(const std::string& name) {
  Topic& topic = topics_[name];
  if (topic.forgotten) {
    return;
  }
  if (MustWait(name, /*for_leaders=*/true, kTailTimeout)) {
    return Retry(name, &SimTails::Read);
  }
  if (kafka_.down ||
      (kafka_.leaderless >= 0 && static_cast<size_t>(kafka_.leaderless) < topic.ends.size() &&
       topic.ends[static_cast<size_t>(kafka_.leaderless)].counts)) {
    return SettleUnread(name, "timed out");
  }
  for (size_t i = 0; i < topic.ends.size(); ++i) {
    End& read = topic.ends[i];
    const SimPartition& partition = kafka_.partition(name, static_cast<int>(i));
    const RecordPlace place{.topic = name, .partition = static_cast<int32_t>(i)};
    const int64_t end = read.counts ? std::min(read.end, partition.end) : 0;
    const auto note = [&](int64_t offset) {
      const auto& header = partition.at(offset).header;
      const auto stored = header
                              ? DecodePosition({header->bytes.data(), header->bytes.size()}, place)
                              : std::nullopt;
      if (stored) {
        read.stored.OnRecord(stored->record, stored->partitions, history_,
                             static_cast<uint32_t>(topic.ends.size()));
      }
    };
    for (int64_t offset = std::max(read.begin, partition.begin()); offset < end; ++offset) {
      note(offset);
    }
    while (read.begin > partition.begin() && read.begin <= end &&
           read.stored.MayGoFurtherBack(history_.unpublished)) {
      context_.coverage.Count("older records are read than those at an end");
      note(--read.begin);
    }
  }
  later_(context_.random.Between(kafka_.latency, kafka_.latency_most),
         [this, name] { CheckReplicas(name); });
}

void SimTails::CheckReplicas(const std::string& name) {
  Topic& topic = topics_[name];
  if (topic.forgotten) {
    return;
  }
  if (MustWait(name, /*for_leaders=*/false, kTailTimeout)) {
    return Retry(name, &SimTails::CheckReplicas);
  }
  if (kafka_.down || static_cast<size_t>(kafka_.topic(name).partitions) != topic.ends.size()) {
    return SettleUnread(name, "no broker, or another number of partitions");
  }
  for (size_t i = 0; i < topic.ends.size(); ++i) {
    End& read = topic.ends[i];
    const int number = static_cast<int>(i);
    const SimPartition& partition = kafka_.partition(name, number);
    const bool safe =
        IsStoredSafely(kafka_.in_sync(name, number), SimKafka::kReplicas,
                       kafka_.shows_settings ? std::optional(SimKafka::kMinInSync) : std::nullopt);
    if (!safe) {
      context_.coverage.Count("an end does not count: too few replicas are in sync");
    }
    if (!safe || partition.epoch != read.epoch || kafka_.leaderless == number) {
      read.counts = false;
      read.stored = StoredEvents();
    }
  }
  Settle(name);
}

void SimTails::Settle(const std::string& name) {
  topics_[name].state = State::kSettled;
  context_.coverage.Count("the ends of a topic are read");
  context_.Note("[kafka] the ends of {} are read", name);
}

void SimTails::SettleUnread(const std::string& name, std::string_view reason) {
  for (End& read : topics_[name].ends) {
    read.counts = false;
    read.stored = StoredEvents();
  }
  topics_[name].state = State::kSettled;
  context_.coverage.Count("the ends of a topic cannot be read");
  context_.Note("[kafka] the ends of {} are not read: {}", name, reason);
}

}  // namespace walrelay::sim
