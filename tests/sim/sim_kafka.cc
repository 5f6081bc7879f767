#include "sim_kafka.h"

#include <algorithm>
#include <utility>

#include "encode/progress_codec.h"
#include "mutant.h"
#include "outbox.h"

namespace walrelay::sim {
namespace {

constexpr int64_t kTail = 4;
constexpr int kMostPartitions = 6;
constexpr int kForeignRecords = 250;                  // more than a relay reads of an end
constexpr Micros kSettled = std::chrono::seconds(5);  // after a fault

}  // namespace

const TopicPartition SimKafka::kProgressPartition(kProgressTopic, 0);

SimKafka::SimKafka(Context& context) : context_(context), coordinator_(context, *this) {
  for (uint32_t key = 0; key < kTopicCount; ++key) {
    topics_[TopicOf(key)].partitions = static_cast<int>(context.random.Between(1, 4));
  }
  topics_[std::string(kDeadLetterTopic)].partitions = 1;
}

SimTopic& SimKafka::topic(std::string_view name) {
  const auto found = topics_.find(name);
  if (found != topics_.end()) {
    return found->second;
  }
  SimTopic& added = topics_[std::string(name)];
  added.exists = false;
  return added;
}

std::vector<std::string> SimKafka::topics() const {
  std::vector<std::string> names;
  for (const auto& [name, topic] : topics_) {
    names.push_back(name);
  }
  return names;
}

SimPartition& SimKafka::PartitionOf(std::string_view topic, int partition) {
  return here().partitions[{std::string(topic), partition}];
}

// Checks a batch against the topic's settings and the brokers' policies. kAppended: accepted.
Answer SimKafka::Verdict(const SimTopic& settings, const Batch& batch) {
  if (settings.denied) {
    return Answer::kDenied;
  }
  if (batch.bytes > settings.most_bytes) {
    return Answer::kTooLarge;
  }
  if (batch.latest > context_.clock.WallNow() + kMostAhead) {
    context_.coverage.Count("broker rejects the time of a record");
    return Answer::kTimeRefused;
  }
  if (to_be_refused > 0 && batch.progress.empty()) {
    --to_be_refused;
    const auto chosen = context_.random.Below(batch.events.size());
    refused_events_.insert(batch.events[static_cast<size_t>(chosen)]);
  }
  const bool bad = std::any_of(batch.events.begin(), batch.events.end(),
                               [this](int event) { return IsRefused(event); });
  return bad || context_.random.Chance(refused) ? Answer::kRefused : Answer::kAppended;
}

Answer SimKafka::Append(std::string_view topic, int number, const Batch& batch) {
  const SimTopic& settings = this->topic(topic);
  if (down || number == leaderless || batch.connection != changes_) {
    return Answer::kTryAgain;
  }
  const bool transactional = !batch.transactional_id.empty();
  const TopicPartition where(topic, number);
  if (transactional && coordinator_.IsStale(where, batch)) {
    context_.coverage.Count("a batch of a fenced producer arrives");
    return Answer::kFenced;
  }
  if (const Answer verdict = Verdict(settings, batch); verdict != Answer::kAppended) {
    // Only a batch of one record shows which record was rejected.
    if (batch.events.size() == 1 && batch.progress.empty() && verdict != Answer::kDenied &&
        verdict != Answer::kTimeRefused) {
      context_.oracle.OnRefusedAlone(batch.events.front(), verdict == Answer::kTooLarge);
      context_.coverage.Count("broker rejects a single-record batch");
    }
    return verdict;
  }
  if (std::exchange(fencing, false)) {
    return Answer::kFenced;
  }
  SimPartition& partition = PartitionOf(topic, number);
  const Answer appended = partition.replicated ? Answer::kTryAgain : Answer::kAppended;
  // A partition that knows nothing of a producer accepts any sequence number.
  if (IsStranger(batch) && !partition.next_sequence.contains(batch.producer)) {
    if (!batch.oldest) {
      return Answer::kTryAgain;
    }
    partition.next_sequence[batch.producer] = batch.first_sequence;
  }
  uint32_t& next = partition.next_sequence[batch.producer];
  const bool checked = batch.checked && !Mutant(MutantId::kNotIdempotent);
  if (checked && batch.first_sequence > next && IsStranger(batch) && batch.oldest) {
    context_.coverage.Count("a producer has written to another cluster meanwhile");
    return Answer::kFenced;
  }
  if (checked && batch.first_sequence > next) {
    context_.coverage.Count("broker rejects an out-of-order batch");
    return Answer::kTryAgain;
  }
  if (checked && batch.first_sequence < next) {
    context_.coverage.Count("broker drops a repeated batch");
    return appended;
  }
  if (transactional && coordinator_.verifies && !coordinator_.Verify(where, batch)) {
    if (coordinator_.down) {
      return Answer::kTryAgain;
    }
    context_.coverage.Count("broker rejects a batch that is not part of the transaction");
    return Answer::kFenced;
  }
  next = batch.first_sequence + static_cast<uint32_t>(batch.events.size());
  if (transactional) {
    coordinator_.Append(where, batch);
    if (Mutant(MutantId::kReadUncommittedProgress)) {
      for (const std::string& value : batch.progress) {
        here().progress = *DecodeProgress(value);
      }
    }
    return Answer::kAppended;
  }
  if (!batch.progress.empty()) {
    for (const std::string& value : batch.progress) {
      AppendProgress(value);
    }
    return Answer::kAppended;
  }
  for (size_t i = 0; i < batch.events.size(); ++i) {
    context_.oracle.OnAppended(batch.events[i], topic == kDeadLetterTopic);
    partition.Add({batch.events[i], batch.positions[i]});
  }
  if (deletes_records && !partition.replicated) {
    partition.records.clear();
  }
  return appended;
}

void SimKafka::AppendProgress(std::string_view value) {
  const absl::StatusOr<Progress> record = DecodeProgress(value);
  if (!record.ok()) {
    context_.oracle.Fail("I19 progress", "a progress record cannot be read");
    return;
  }
  AppendProgress(*record);
}

void SimKafka::AppendProgress(const Progress& record) {
  context_.Note("[kafka] progress: generation {}, timeline {}, frontier {}, last {}",
                record.generation, record.timeline, record.frontier.ToString(),
                record.last.commit_lsn.ToString());
  context_.coverage.Count("a progress record is appended");
  OnProgressDecided(record);
  if (!ProgressIsStable()) {
    context_.coverage.Count("a progress record is behind an open transaction");
    here().held_progress.push_back(record);
    return;
  }
  Show(record);
}

void SimKafka::Show(const Progress& record) {
  auto& newest = here().progress;
  if (!newest || newest->Order() < record.Order()) {
    here().progress_written_in = cluster_;
  }
  AddVersion(newest, record);
}

// Connections to the other cluster break. Its topics and their settings exist here, too.
void SimKafka::Become(int cluster, bool mirrored) {
  if (cluster == cluster_) {
    return;
  }
  for (auto& [name, partition] : here().partitions) {
    partition.replicated.reset();
  }
  const Cluster& other = here();
  cluster_ = cluster;
  ++changes_;
  strangers_ = producers_;
  if (mirrored && !here().progress) {
    here().progress = other.progress;
    here().progress_written_in = other.progress_written_in;
    here().decided = other.progress;
  }
  context_.Note("[kafka] the address leads to cluster {}{}", cluster,
                mirrored ? ", with a copy of the progress topic" : "");
}

void SimKafka::Disturb(Micros length) {
  disturbed_until = std::max(disturbed_until, context_.now() + length + kSettled);
}

void SimKafka::OnProgressDecided(const Progress& record) {
  auto& newest = here().decided;
  if (std::exchange(here().record_deleted, false)) {
    newest.reset();
  }
  AddVersion(newest, record);
}

void SimKafka::DeleteProgress() {
  here().progress.reset();
  here().held_progress.clear();
  here().record_deleted = here().decided.has_value();
  ++deletions_;
}

void SimKafka::ShowHeldProgress() {
  progress_stable_since = context_.now();
  for (const Progress& record : std::exchange(here().held_progress, {})) {
    Show(record);
  }
}

// Consumers have had the time to read them: they are not lost.
void SimKafka::DeleteRecords() {
  for (auto& [name, partition] : here().partitions) {
    if (!partition.replicated) {
      partition.records.clear();
    }
  }
}

void SimKafka::LoseTail(int number) {
  for (auto& [name, partition] : here().partitions) {
    if (name.second == number) {
      LoseFrom(partition, partition.end - kTail);
    }
  }
}

void SimKafka::LoseFrom(SimPartition& partition, int64_t offset) {
  while (partition.end > offset && !partition.records.empty()) {
    if (const int event = partition.records.back().event; event != kNoEvent) {
      context_.oracle.OnLostByBroker(event);
    }
    partition.records.pop_back();
    --partition.end;
  }
  ++partition.epoch;
}

void SimKafka::ShrinkReplicas(int number) {
  for (const auto& [name, topic] : topics_) {
    SimPartition& partition = PartitionOf(name, number);
    if (name != kProgressTopic && !partition.replicated) {
      partition.replicated = {partition.end, partition.next_sequence};
    }
  }
}

void SimKafka::GrowReplicas(int number, bool lost) {
  for (auto& [name, partition] : here().partitions) {
    if (name.second != number || !partition.replicated) {
      continue;
    }
    if (lost) {
      if (partition.end > partition.replicated->end) {
        context_.coverage.Count("records that were not acknowledged are lost with their leader");
      }
      LoseFrom(partition, partition.replicated->end);
      partition.next_sequence = partition.replicated->next_sequence;
    }
    partition.replicated.reset();
  }
}

void SimKafka::ChangePartitions(std::string_view topic) {
  SimTopic& settings = this->topic(topic);
  settings.partitions = std::min(settings.partitions + 1, kMostPartitions);
  settings.changed = context_.now() + context_.random.Between(Micros(0), std::chrono::seconds(5));
}

bool SimKafka::AppendForeign(uint64_t choice) {
  std::vector<SimPartition*> with_headers;
  for (auto& [name, partition] : here().partitions) {
    if (!partition.records.empty() && partition.records.back().header && !partition.replicated) {
      with_headers.push_back(&partition);
    }
  }
  if (with_headers.empty()) {
    return false;
  }
  SimPartition* chosen = with_headers[choice % with_headers.size()];
  if (choice % 4 == 0) {
    for (int i = 0; i < kForeignRecords; ++i) {
      chosen->Add({kNoEvent, std::nullopt});
    }
    return true;
  }
  const StoredRecord copy{kNoEvent, chosen->records.back().header};
  for (auto& [name, partition] : here().partitions) {
    if (&partition != chosen && !partition.replicated) {
      partition.Add(copy);
    }
  }
  return true;
}

}  // namespace walrelay::sim
