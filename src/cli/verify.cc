// `walrelay verify`: compares the records in the topics with the records that walrelay would have
// published. The publisher may be Debezium before a migration, or this relay.

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/string_hash.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/record_difference.h"
#include "cli/rehearsal.h"
#include "kafka/topic_dump.h"
#include "kafka/topic_facts.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

constexpr seconds kKafkaPatience{30};
constexpr seconds kBetweenLooks{1};
// Clocks differ, and the timestamp of a record may be earlier than its commit.
constexpr std::chrono::minutes kBefore{10};
constexpr size_t kMostShown = 20;

// Stores the records it is given.
class RecordCollector : public Producer {
 public:
  absl::StatusOr<Produced> Produce(const Record& record, DeliveryToken token) override {
    records_.emplace_back(record);
    deliveries_.push_back({.token = token, .bytes = record.window_bytes()});
    return Produced::kAccepted;
  }
  void Poll(DeliverySink& sink) override {
    for (const Delivery& delivery : deliveries_) {
      sink.OnDelivered(delivery);
    }
    deliveries_.clear();
  }
  absl::Status Health() const override { return absl::OkStatus(); }
  absl::Status Trouble() const override { return absl::OkStatus(); }
  int poll_fd() const override { return -1; }

  std::vector<ExpectedRecord>& records() { return records_; }

 private:
  std::vector<ExpectedRecord> records_;
  std::vector<Delivery> deliveries_;
};

// Compares the records in the topics with the expected records.
class Comparison {
 public:
  Comparison(const KafkaConfig& kafka, std::vector<ExpectedRecord> expected,
             std::optional<WallTime> since)
      : kafka_(kafka), since_(since), expected_(std::move(expected)) {
    for (const ExpectedRecord& record : expected_) {
      topics_.push_back(record.topic);
    }
    std::sort(topics_.begin(), topics_.end());
    topics_.erase(std::unique(topics_.begin(), topics_.end()), topics_.end());
  }

  // Reads the topics until every event is found or `timeout` has passed.
  absl::Status Find(Micros timeout) {
    const SystemClock clock;
    const MonoTime deadline = clock.Now() + timeout;
    while (true) {
      WR_ASSIGN_OR_RETURN(stored_, ReadTopics(kafka_, topics_, kKafkaPatience, since_));
      Index();
      const bool all = std::all_of(expected_.begin(), expected_.end(), [this](const auto& record) {
        return Stored(record) != nullptr;
      });
      if (all || clock.Now() >= deadline) {
        return CountPartitions();
      }
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }

  // Prints the differences; returns how many events differ.
  size_t Tell() const {
    size_t different = 0;
    for (const ExpectedRecord& record : expected_) {
      const StoredRecord* const stored = Stored(record);
      const std::string difference =
          stored == nullptr ? "missing in the topic" : Differs(record, *stored);
      if (!difference.empty() && ++different <= kMostShown) {
        fmt::print("{}  {}\n    {}\n", Name(record), stored != nullptr ? Place(*stored) : "",
                   difference);
      }
    }
    return different;
  }

 private:
  // Indexes the first record of each event: an event may be repeated.
  void Index() {
    index_.clear();
    for (const StoredRecord& record : stored_) {
      for (std::string& identity : IdentitiesOf(record)) {
        index_.try_emplace(std::move(identity), &record);
      }
    }
  }

  const StoredRecord* Stored(const ExpectedRecord& record) const {
    const auto found = index_.find(IdentityOf(record));
    return found == index_.end() ? nullptr : found->second;
  }

  absl::Status CountPartitions() {
    const auto wanted = [this](std::string_view name) {
      return std::binary_search(topics_.begin(), topics_.end(), name);
    };
    WR_ASSIGN_OR_RETURN(const std::vector<TopicFacts> facts,
                        ReadTopicFacts(kafka_, wanted, topics_.size(), kKafkaPatience));
    for (const TopicFacts& topic : facts) {
      partitions_[topic.name] = topic.partitions;
    }
    return absl::OkStatus();
  }

  std::string Differs(const ExpectedRecord& record, const StoredRecord& stored) const {
    const auto partitions = partitions_.find(record.topic);
    return DifferenceOf(record, stored, partitions == partitions_.end() ? 0 : partitions->second);
  }

  static std::string Name(const ExpectedRecord& record) {
    const std::string* const id = record.id();
    return fmt::format("{}  {}", Printable(record.topic, 249),
                       id != nullptr ? "id=" + Printable(*id, 80)
                                     : "key=" + Printable(record.key.value_or("NULL"), 80));
  }
  static std::string Place(const StoredRecord& stored) {
    return fmt::format("[{}]@{}", stored.partition, stored.offset);
  }

  const KafkaConfig& kafka_;
  const std::optional<WallTime> since_;
  std::vector<ExpectedRecord> expected_;
  std::vector<std::string> topics_;
  std::vector<StoredRecord> stored_;
  StringMap<const StoredRecord*> index_;
  StringMap<int> partitions_;
};

absl::StatusOr<size_t> Verify(const Config& config, const VerifyFlags& flags) {
  const SystemClock clock;
  const WallTime started = clock.WallNow();
  const MonoTime enough = clock.Now() + seconds(flags.seconds);
  Scope scope = flags.scope;
  scope.follow = scope.ids.empty();
  scope.enough = [&] { return clock.Now() >= enough; };
  RecordCollector collector;
  WR_ASSIGN_OR_RETURN(const uint64_t count, Rehearse(config, scope, collector));
  if (!scope.follow && config.route.timestamp != TimestampSource::kColumn) {
    for (ExpectedRecord& record : collector.records()) {
      record.timestamp.reset();  // the commit time of a row is unknown
    }
  }
  Comparison comparison(config.kafka, std::move(collector.records()),
                        scope.follow ? std::optional(started - kBefore) : std::nullopt);
  WR_RETURN_IF_ERROR(comparison.Find(seconds(flags.timeout)));
  const size_t different = comparison.Tell();
  fmt::print("{} event{} compared, {} different\n", count, count == 1 ? "" : "s", different);
  return different;
}

}  // namespace

ExitCode VerifyCommand(const VerifyFlags& flags) {
  const auto loaded = LoadConfig(flags.config);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  const auto different = Verify(loaded->config, flags);
  if (!different.ok()) {
    return Report(different.status());
  }
  return *different == 0 ? ExitCode::kOk : ExitCode::kProblemsFound;
}

}  // namespace walrelay
