#include "oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace walrelay::sim {
namespace {

// The first append, one repetition when records in flight with a rejected record are read again,
// and one while the relay determines which record was rejected.
constexpr uint32_t kAppendsWithoutFault = 3;
// Records in flight, and the repetitions that follow from them.
constexpr uint32_t kAppendsPerFault = 2;
// A committed row, until its relay has a reason for it to wait.
constexpr Micros kMayWait = std::chrono::seconds(30);

}  // namespace

int Oracle::NewEvent(uint32_t key, Flaw flaw, uint32_t size) {
  events_.push_back({.key = key, .flaw = flaw, .size = size});
  return static_cast<int>(events_.size()) - 1;
}

void Oracle::OnCommit(Lsn commit_lsn, std::vector<int> events) {
  for (const int id : events) {
    Event& event = events_[Index(id)];
    event.fate = EventFate::kCommitted;
    if (event.key >= key_order_.size()) {
      key_order_.resize(event.key + 1);
      key_appeared_.resize(event.key + 1);
    }
    event.commit_lsn = commit_lsn;
    event.order = static_cast<uint32_t>(key_order_[event.key].size());
    key_order_[event.key].push_back(id);
  }
  commits_.push_back({commit_lsn, std::move(events)});
}

void Oracle::OnLogTruncated(Lsn end) {
  truncated_ = true;
  while (!commits_.empty() && commits_.back().commit_lsn >= end) {
    for (const int id : commits_.back().events) {
      Event& event = events_[Index(id)];
      event.fate =
          event.fate == EventFate::kDurable ? EventFate::kVanished : EventFate::kRolledBack;
    }
    commits_.pop_back();
  }
  safe_commits_ = std::min(safe_commits_, commits_.size());
  present_commits_ = std::min(present_commits_, commits_.size());
}

void Oracle::Excuse(Lsn end) {
  for (const Commit& commit : commits_) {
    if (commit.commit_lsn >= end) {
      return;
    }
    for (const int id : commit.events) {
      Event& event = events_[Index(id)];
      event.excused = event.excused || event.present == 0;
      event.covered = true;
      event.reported = true;  // the relay need not deliver it any more
    }
  }
}

void Oracle::OnVisible(const std::vector<int>& events, bool confirmed) {
  for (const int id : events) {
    events_[Index(id)].visible = true;
    events_[Index(id)].confirmed = confirmed;
  }
}

// A transaction that became visible after its wait for the standby is on the standby: a failover
// cannot revert it.
void Oracle::OnTakenBack(Lsn fork) {
  for (auto commit = commits_.rbegin(); commit != commits_.rend() && commit->commit_lsn >= fork;
       ++commit) {
    for (const int id : commit->events) {
      const Event& event = events_[Index(id)];
      if (visibility_required_ && event.produced && (event.confirmed || !event.visible)) {
        Fail("I17 visibility", fmt::format("a failover reverts event {}", id));
      }
    }
  }
}

void Oracle::ExcuseHidden(Lsn from, Lsn to) {
  for (Event& event : events_) {
    event.excused =
        event.excused || (event.hidden.valid() && from <= event.hidden && event.hidden < to);
  }
}

void Oracle::OnProduced(int id) {
  Event& event = events_[Index(id)];
  event.produced = true;
  if (visibility_required_ && !event.visible) {
    Fail("I17 visibility", fmt::format("event {} is published before its row is visible", id));
  }
  if (event.settled) {
    Fail("I7 repetitions", fmt::format("event {} is sent again after a clean exit", id));
  }
  if (event.remembered) {
    Fail("I7 repetitions", fmt::format("event {}, of the predecessor, is sent again", id));
  }
}

void Oracle::OnStored(int id) {
  Digest(3);
  Digest(Index(id));
  Event& event = events_[Index(id)];
  event.stored = event.reported = event.acknowledged = true;
  CheckStored(id);
}

void Oracle::OnLostByBroker(int id) {
  Event& event = events_[Index(id)];
  --event.present;
  CheckStored(id);
  // The operator found it in Kafka, before it was lost.
  event.excused = event.excused || (event.covered && event.present == 0);
}

void Oracle::CheckStored(int id) {
  const Event& event = events_[Index(id)];
  if (event.stored && event.present == 0 && Expected(event)) {
    Fail("EO8 skipped", fmt::format("event {} is not sent, and no topic has it", id));
  }
}

void Oracle::OnReported(int id) {
  Digest(2);
  Digest(Index(id));
  events_[Index(id)].reported = events_[Index(id)].acknowledged = true;
}

void Oracle::OnAppended(int id, bool dead_letter) {
  Digest(1);
  Digest(Index(id));
  Event& event = events_[Index(id)];
  if (event.fate != EventFate::kDurable && event.fate != EventFate::kVanished) {
    Fail("I2 no phantom", fmt::format("event {} was never committed", id));
  }
  if (dead_letter != (event.flaw != Flaw::kNone) && !WasRefused(id)) {
    Fail("I8 content", fmt::format("event {} is in the wrong kind of topic", id));
  }
  repeats_ += event.present > 0 ? 1 : 0;
  if (once_ && event.present > 0 && !event.repeatable) {
    Fail("EO1 once", fmt::format("event {} is committed twice", id));
  }
  ++event.present;
  if (++event.appended > kAppendsWithoutFault + kAppendsPerFault * faults_) {
    Fail("I15 appends",
         fmt::format("event {} has {} appends after {} faults", id, event.appended, faults_));
  }
  if (!std::exchange(event.appeared, true)) {
    CheckFirstAppearance(id, event);
  }
}

// --- transactions

void Oracle::AllowRepeats() {
  for (Event& event : events_) {
    event.repeatable = true;
  }
}

void Oracle::OnDecided(int id, Lsn frontier, Lsn partial) {
  OnReported(id);
  const Event& event = events_[Index(id)];
  if (event.fate == EventFate::kDurable && event.commit_lsn >= frontier &&
      event.commit_lsn != partial) {
    Fail("EO3 progress", fmt::format("event {} is committed with a progress record that covers "
                                     "only {}",
                                     id, frontier.ToString()));
  }
}

void Oracle::CheckPrefix(Lsn commit_lsn) {
  const auto commit = std::find_if(commits_.rbegin(), commits_.rend(), [&](const Commit& other) {
    return other.commit_lsn == commit_lsn;
  });
  if (!commit_lsn.valid() || commit == commits_.rend()) {
    return;
  }
  std::optional<int> missing;
  for (const int id : commit->events) {
    const Event& event = events_[Index(id)];
    if (!Safe(event)) {
      missing = missing.value_or(id);
    } else if (missing && event.reported && !event.hidden.valid()) {
      Fail("EO3 progress",
           fmt::format("event {} is committed before event {} of its transaction", id, *missing));
    }
  }
}

// A record does not say less than the one before, although the server was restored to a state
// between the last published transaction and the frontier.
std::vector<int> Oracle::MissingBefore(const Progress& record) {
  Lsn frontier = record.frontier;
  if (truncated_) {
    const Lsn last = record.last.commit_lsn;
    frontier = std::min(frontier, last.valid() ? Lsn(last.value() + 1) : record.settled_before);
  }
  const auto missing = [this](int id) {
    const Event& event = events_[Index(id)];
    return event.present == 0 && Expected(event) && !event.hidden.valid();
  };
  std::vector<int> out;
  bool prefix = true;
  for (size_t i = present_commits_; i < commits_.size() && commits_[i].commit_lsn < frontier; ++i) {
    const size_t before = out.size();
    std::copy_if(commits_[i].events.begin(), commits_[i].events.end(), std::back_inserter(out),
                 missing);
    prefix = prefix && out.size() == before;
    present_commits_ += prefix ? 1 : 0;
  }
  return out;
}

void Oracle::CheckPresent(const std::vector<int>& events) {
  for (const int id : events) {
    const Event& event = events_[Index(id)];
    if (event.present == 0 && Expected(event) && !event.hidden.valid()) {
      Fail("EO3 progress",
           fmt::format("a progress record is committed, but event {} before it is not", id));
    }
  }
}

void Oracle::CheckFirstAppearance(int id, const Event& event) {
  if (event.fate != EventFate::kDurable || event.flaw != Flaw::kNone) {
    return;
  }
  const std::vector<int>& order = key_order_[event.key];
  size_t& appeared = key_appeared_[event.key];
  const auto passed = [this](int other) {
    const Event& e = events_[Index(other)];
    return e.appeared || !Expected(e) || e.flaw != Flaw::kNone || e.hidden.valid();
  };
  while (appeared < order.size() && passed(order[appeared])) {
    ++appeared;
  }
  if (appeared < event.order) {
    Fail("I3 order",
         fmt::format("event {} of key {} appears before event {}", id, event.key, order[appeared]));
  }
}

void Oracle::OnRefusedAlone(int id, bool too_large) {
  Event& event = events_[Index(id)];
  (too_large ? event.too_large_alone : event.refused_alone) = true;
}

bool Oracle::Skipped(const Event& event) const {
  const bool too_large = event.flaw == Flaw::kTooLarge || event.too_large_alone;
  const bool flawed = event.flaw != Flaw::kNone && event.flaw != Flaw::kTooLarge;
  return (too_large && skipping_too_large_) || ((flawed || event.refused_alone) && skipping_);
}

bool Oracle::Expected(const Event& event) const {
  return event.fate == EventFate::kDurable && !event.excused && !Skipped(event);
}

bool Oracle::Safe(const Event& event) const {
  // A hidden row is never sent and blocks no confirmation; the gap must be reported.
  return event.reported || !Expected(event) || event.hidden.valid();
}

// A transaction is never sent again once a position after the start of its commit record is
// confirmed.
void Oracle::OnConfirmed(Lsn flush) {
  Digest(flush.value());
  CheckSafe(flush, "I5 confirm safety", "confirmed");
}

void Oracle::OnRecorded(Lsn frontier) {
  Digest(frontier.value());
  CheckSafe(frontier, "I19 progress", "recorded");
}

// Neither a gap that was accepted nor a table that was not published excuses it.
void Oracle::CheckProven(int id) {
  const Event& event = events_[Index(id)];
  if (!event.acknowledged && !Skipped(event)) {
    Fail("I20 proof", fmt::format("event {} counts as published and is not acknowledged", id));
  }
}

void Oracle::CheckSafe(Lsn position, std::string_view invariant, std::string_view what) {
  const auto safe = [this](int id) { return Safe(events_[Index(id)]); };
  while (safe_commits_ < commits_.size() &&
         std::all_of(commits_[safe_commits_].events.begin(), commits_[safe_commits_].events.end(),
                     safe)) {
    ++safe_commits_;
  }
  if (safe_commits_ < commits_.size() && commits_[safe_commits_].commit_lsn < position) {
    const Commit& commit = commits_[safe_commits_];
    Fail(invariant, fmt::format("{} {}, but event {} of the transaction that commits at {} is not "
                                "acknowledged",
                                what, position.ToString(),
                                *std::find_if_not(commit.events.begin(), commit.events.end(), safe),
                                commit.commit_lsn.ToString()));
  }
}

// A hidden row is the matter of I13: the stream does not contain it, and its gap is reported.
void Oracle::CheckTruth(MonoTime since) {
  const MonoTime latest = clock_.Now() - kMayWait;
  const auto waits = [&](const Event& event) { return event.durable_at <= latest && !Safe(event); };
  const auto event =
      since > latest ? events_.end() : std::find_if(events_.begin(), events_.end(), waits);
  if (event != events_.end()) {
    Fail("I21 truth", fmt::format("a relay says that it is up to date while event {} waits",
                                  event - events_.begin()));
  }
}

void Oracle::OnCleanEnd(Lsn end) {
  for (const Commit& commit : commits_) {
    for (const int id : commit.events) {
      Event& event = events_[Index(id)];
      event.settled = event.settled || (event.reported && commit.commit_lsn < end);
    }
  }
}

void Oracle::OnSucceeded(Lsn begin, Lsn end) {
  for (const Commit& commit : commits_) {
    for (const int id : commit.events) {
      Event& event = events_[Index(id)];
      event.remembered = event.reported && begin <= commit.commit_lsn && commit.commit_lsn < end;
    }
  }
}

void Oracle::OnMemoryLost() {
  for (Event& event : events_) {
    event.remembered = false;
  }
}

void Oracle::OnConfirmedForgotten() {
  for (Event& event : events_) {
    event.settled = false;
  }
}

bool Oracle::Complete() const {
  return std::all_of(events_.begin(), events_.end(), [this](const Event& event) {
    return !Expected(event) || (event.present > 0 && event.reported);
  });
}

std::string Oracle::Missing() const {
  std::string out;
  for (size_t id = 0; id < events_.size() && out.size() < 60; ++id) {
    if (Expected(events_[id]) && events_[id].present == 0) {
      out += fmt::format("{}{}", out.empty() ? "" : ", ", id);
    }
  }
  return out;
}

void Oracle::Digest(uint64_t what) {
  for (const uint64_t word : {what, static_cast<uint64_t>(clock_.Elapsed().count())}) {
    digest_ = (digest_ ^ word) * 1099511628211u;
  }
}

void Oracle::Fail(std::string_view invariant, std::string what) {
  if (violation_.empty()) {
    violation_ = fmt::format("{}: {} (at {:.3f} s)", invariant, what,
                             static_cast<double>(clock_.Elapsed().count()) / 1e6);
  }
}

}  // namespace walrelay::sim
