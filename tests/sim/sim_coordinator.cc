#include "sim_coordinator.h"

#include <fmt/format.h>

#include <algorithm>

#include "encode/progress_codec.h"
#include "mutant.h"
#include "outbox.h"
#include "sim_kafka.h"

namespace walrelay::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// transaction.abort.timed.out.transaction.cleanup.interval.ms, which is longer in reality.
constexpr Micros kScanInterval = seconds(1);
constexpr Micros kInterrupted = seconds(5);  // what follows from a fault
constexpr Micros kMarkerRetry = milliseconds(50);
// A request that waits for the next transaction is lost if there is none.
constexpr Micros kLongestHeld = seconds(60);

}  // namespace

// --- requests to the coordinator

// Without the epoch of the caller: a new producer always claims the id.
SimCoordinator::Claim SimCoordinator::InitProducer(const std::string& id, Micros timeout) {
  Transactional& owner = ids_[id];
  owner.timeout = timeout;
  switch (owner.state) {
    case State::kOngoing:
      context_.coverage.Count("a claim aborts an open transaction");
      ++owner.epoch;  // fences the producer before its transaction is aborted
      Decide(id, /*commit=*/false);
      return {TxnAnswer::kConcurrent};
    case State::kPrepareCommit:
    case State::kPrepareAbort:
      context_.coverage.Count(owner.state == State::kPrepareCommit
                                  ? "a claim waits for commit markers"
                                  : "a claim waits for abort markers");
      return {TxnAnswer::kConcurrent};
    case State::kEmpty:
    case State::kCompleteCommit:
    case State::kCompleteAbort:
      break;
  }
  owner.epoch += owner.claimed ? 1 : 0;
  owner.claimed = true;
  owner.state = State::kEmpty;
  return {TxnAnswer::kOk, owner.epoch};
}

TxnAnswer SimCoordinator::AddPartition(const std::string& id, uint32_t epoch,
                                       const TopicPartition& partition) {
  Transactional& owner = ids_[id];
  if (epoch != owner.epoch || !owner.claimed) {
    return TxnAnswer::kFenced;
  }
  if (owner.state == State::kPrepareCommit || owner.state == State::kPrepareAbort) {
    context_.coverage.Count("a transaction begins before the markers of the last one");
    return TxnAnswer::kConcurrent;
  }
  if (owner.state != State::kOngoing) {
    owner.state = State::kOngoing;
    owner.begun = context_.now();
    ++owner.number;
    owner.partitions.clear();
    ArmScan();
    for (const auto& request : std::exchange(held_, {})) {
      context_.After(context_.random.Between(Micros(0), milliseconds(30)), request);
    }
  }
  owner.partitions.insert(partition);
  return TxnAnswer::kOk;
}

// A client that gets no answer sends the request again: the same decision is confirmed, even if it
// was made about the transaction before (KAFKA-17754).
TxnAnswer SimCoordinator::End(const std::string& id, uint32_t epoch, bool commit) {
  Transactional& owner = ids_[id];
  if (epoch != owner.epoch || !owner.claimed) {
    context_.coverage.Count("an EndTxn of a fenced producer arrives");
    return TxnAnswer::kFenced;
  }
  switch (owner.state) {
    case State::kOngoing:
      Decide(id, commit);
      return TxnAnswer::kOk;
    case State::kPrepareCommit:
      return commit ? TxnAnswer::kConcurrent : TxnAnswer::kInvalidState;
    case State::kPrepareAbort:
      return commit ? TxnAnswer::kInvalidState : TxnAnswer::kConcurrent;
    case State::kCompleteCommit:
      context_.coverage.Count("an EndTxn arrives again after the commit");
      return commit ? TxnAnswer::kOk : TxnAnswer::kInvalidState;
    case State::kCompleteAbort:
      return commit ? TxnAnswer::kInvalidState : TxnAnswer::kOk;
    case State::kEmpty:
      break;
  }
  return TxnAnswer::kInvalidState;
}

void SimCoordinator::Reach(TxnStep step) {
  if (kill_at == step) {
    kill_at = TxnStep::kCount;
    context_.coverage.Count(
        fmt::format("interrupted at step {} of a transaction", static_cast<int>(step)));
    context_.After(Micros(0), kill);
  }
}

// --- decisions and markers

void SimCoordinator::Decide(const std::string& id, bool commit) {
  Transactional& owner = ids_[id];
  owner.state = commit ? State::kPrepareCommit : State::kPrepareAbort;
  owner.unmarked = owner.partitions;
  context_.Note("[kafka] the transaction of epoch {} is to be {}", owner.epoch,
                commit ? "committed" : "aborted");
  context_.coverage.Count(commit ? "a transaction is committed" : "a transaction is aborted");
  if (commit) {
    JudgeCommit(id, owner);
    Reach(TxnStep::kDecided);
  }
  for (const TopicPartition& where : owner.partitions) {
    context_.After(context_.random.Between(Micros(200), kafka_.latency_most + marker_delay),
                   [this, id, number = owner.number, where, commit] {
                     WriteMarker(id, number, where, commit);
                   });
  }
}

void SimCoordinator::WriteMarker(const std::string& id, uint64_t number,
                                 const TopicPartition& where, bool commit) {
  if (down || kafka_.down || kafka_.leaderless == where.second) {
    context_.coverage.Count("a marker is delayed");
    context_.After(kMarkerRetry,
                   [this, id, number, where, commit] { WriteMarker(id, number, where, commit); });
    return;
  }
  Transactional& owner = ids_[id];
  if (owner.number != number || owner.unmarked.erase(where) == 0) {
    return;
  }
  Mark(id, where, owner.epoch, commit);
  Reach(TxnStep::kMarked);
  if (owner.unmarked.empty()) {
    owner.state = commit ? State::kCompleteCommit : State::kCompleteAbort;
    owner.partitions.clear();
    CheckComplete(id);
  }
}

// A marker ends everything that the producer has written to the partition, whichever transaction it
// was meant for.
void SimCoordinator::Mark(const std::string& id, const TopicPartition& where, uint32_t epoch,
                          bool commit) {
  Partition& partition = partitions_[where];
  partition.epochs[id] = std::max(partition.epochs[id], epoch);
  std::deque<Entry> rest;
  for (Entry& entry : std::exchange(partition.open, {})) {
    if (entry.id != id) {
      rest.push_back(std::move(entry));
      continue;
    }
    if (!commit) {
      continue;
    }
    if (!entry.decided) {
      context_.oracle.Fail("EO6 fencing",
                           fmt::format("records of epoch {} that were not part of the transaction "
                                       "are committed",
                                       entry.epoch));
    }
    for (const int event : entry.events) {
      if (event != kNoEvent) {
        context_.oracle.OnAppended(event, where.first == kDeadLetterTopic);
      }
    }
    for (const std::string& value : entry.progress) {
      kafka_.AppendProgress(value);
      completing_.push_back(value);
    }
  }
  partition.open = std::move(rest);
  if (where.first == kProgressTopic && partition.open.empty()) {
    kafka_.ShowHeldProgress();
  }
}

// --- judges

void SimCoordinator::JudgeCommit(const std::string& id, const Transactional& owner) {
  std::vector<int> events;
  std::vector<std::string> progress;
  std::set<uint64_t> producers;
  for (const TopicPartition& where : owner.partitions) {
    for (Entry& entry : partitions_[where].open) {
      if (entry.id != id) {
        continue;
      }
      entry.decided = true;
      producers.insert(entry.producer);
      if (entry.epoch != owner.epoch) {
        context_.oracle.Fail("EO6 fencing", fmt::format("records of the fenced epoch {} are "
                                                        "committed with epoch {}",
                                                        entry.epoch, owner.epoch));
      }
      for (const int event : entry.events) {
        if (event != kNoEvent) {
          events.push_back(event);
        }
      }
      progress.insert(progress.end(), entry.progress.begin(), entry.progress.end());
    }
  }
  if (producers.size() > 1) {
    context_.oracle.Fail("EO6 fencing", "records of two producers are in one transaction");
  }
  JudgeContent(events, progress);
}

// A transaction with events says in its progress record that they are published, and no other
// transaction does.
void SimCoordinator::JudgeContent(const std::vector<int>& events,
                                  const std::vector<std::string>& progress) {
  if (progress.size() != 1) {
    if (!events.empty() || !progress.empty()) {
      context_.oracle.Fail("EO3 progress",
                           fmt::format("a transaction with {} events is committed with {} progress "
                                       "records",
                                       events.size(), progress.size()));
    }
    return;
  }
  const auto record = DecodeProgress(progress.front());
  if (!record.ok()) {
    context_.oracle.Fail("I19 progress", "a progress record cannot be read");
    return;
  }
  context_.coverage.Count(events.empty() ? "a transaction without events is committed"
                                         : "a transaction with events is committed");
  if (record->partial.valid()) {
    if (atomic && context_.now() > interrupted_until_) {
      context_.oracle.Fail("EO9 atomic", "a database transaction is committed in parts");
    }
    context_.coverage.Count("a part of a database transaction is committed");
  }
  const auto& newest = kafka_.decided();
  const bool deleted = !kafka_.progress() && kafka_.record_losses() > 0;
  if (newest && !deleted && record->generation == newest->generation &&
      record->Order() < newest->Order()) {
    context_.oracle.Fail("EO3 progress", "a committed record does not replace the one before");
  }
  const Lsn partial = record->partial.transaction.commit_lsn;
  for (const int event : events) {
    context_.oracle.OnDecided(event, record->frontier, partial);
  }
  context_.oracle.CheckPrefix(partial);
  kafka_.OnProgressDecided(*record);
}

void SimCoordinator::CheckComplete(const std::string& /*id*/) {
  for (const std::string& value : std::exchange(completing_, {})) {
    const auto expected = expected_.find(value);
    if (expected != expected_.end()) {
      context_.oracle.CheckPresent(expected->second);
      expected_.erase(expected);
    }
  }
}

// --- partitions

bool SimCoordinator::IsStale(const TopicPartition& where, const Batch& batch) const {
  const auto partition = partitions_.find(where);
  if (partition == partitions_.end()) {
    return false;
  }
  const auto epoch = partition->second.epochs.find(batch.transactional_id);
  return epoch != partition->second.epochs.end() && batch.epoch < epoch->second;
}

bool SimCoordinator::Verify(const TopicPartition& where, const Batch& batch) const {
  const auto owner = ids_.find(batch.transactional_id);
  return owner != ids_.end() && owner->second.state == State::kOngoing &&
         owner->second.epoch == batch.epoch && owner->second.partitions.contains(where);
}

void SimCoordinator::Append(const TopicPartition& where, const Batch& batch) {
  Partition& partition = partitions_[where];
  uint32_t& epoch = partition.epochs[batch.transactional_id];
  epoch = std::max(epoch, batch.epoch);
  partition.open.push_back({.id = batch.transactional_id,
                            .epoch = batch.epoch,
                            .producer = batch.producer,
                            .events = batch.events,
                            .progress = batch.progress});
}

bool SimCoordinator::IsOpen(const std::string& id, uint32_t epoch) const {
  const auto owner = ids_.find(id);
  return owner != ids_.end() && owner->second.state == State::kOngoing &&
         owner->second.epoch == epoch;
}

bool SimCoordinator::IsFenced(const std::string& id, uint32_t epoch) const {
  const auto owner = ids_.find(id);
  return owner != ids_.end() && owner->second.epoch != epoch;
}

bool SimCoordinator::HasOpen(const TopicPartition& where) const {
  const auto partition = partitions_.find(where);
  return partition != partitions_.end() && !partition->second.open.empty();
}

// --- timeouts and faults

void SimCoordinator::ArmScan() {
  if (std::exchange(scans_, true)) {
    return;
  }
  context_.After(kScanInterval, [this] {
    scans_ = false;
    bool open = false;
    for (auto& [id, owner] : ids_) {
      if (owner.state == State::kOngoing && !down && !kafka_.down &&
          context_.now() - owner.begun > owner.timeout) {
        Expire(id);
      }
      open = open || owner.state == State::kOngoing;
    }
    if (open) {
      ArmScan();
    }
  });
}

// The producer is fenced, and does not learn why.
void SimCoordinator::Expire(const std::string& id) {
  context_.Note("[kafka] a transaction has exceeded its timeout");
  context_.coverage.Count("a transaction exceeds its timeout");
  ++ids_[id].epoch;
  Decide(id, /*commit=*/false);
}

void SimCoordinator::ExpireAll() {
  for (auto& [id, owner] : ids_) {
    if (owner.state == State::kOngoing) {
      Expire(id);
    }
  }
}

void SimCoordinator::ClaimAll() {
  for (auto& [id, owner] : ids_) {
    if (owner.state == State::kOngoing) {
      Expire(id);
    } else if (owner.state != State::kPrepareCommit && owner.state != State::kPrepareAbort) {
      ++owner.epoch;
    }
  }
}

void SimCoordinator::Interrupt(Micros length) {
  interrupted_until_ = std::max(interrupted_until_, context_.now() + length + kInterrupted);
}

void SimCoordinator::Hold(std::function<void()> request) {
  context_.coverage.Count("an EndTxn is held in the network");
  held_.push_back(std::move(request));
  context_.After(kLongestHeld, [this] { held_.clear(); });
}

}  // namespace walrelay::sim
