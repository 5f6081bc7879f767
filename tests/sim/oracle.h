// Oracle: checks a history against the invariants below.
//
// An event is one row of the outbox. The oracle reads nothing from the relay: commits come from the
// simulated Postgres, appends and reports from the simulated Kafka, confirmations from the wire.
// The first violation ends a history.
//
// Invariants, numbered as in docs/reliability.md: I1 no loss, I2 no phantom, I3 order of first
// appearance, I5 confirm safety, I6 confirm sanity, I7 repetitions, I8 content, I9 bounds,
// I10 progress, I11 liveness towards Postgres, I13 gaps are reported, I14 the operator's limit,
// I15 appends are bounded by faults, I16 a blocking row is named, I17 visibility, I18 audit,
// I19 progress, I20 proof, I21 truth. With exactly-once delivery: EO1 once, EO3 progress (what a
// committed record says), EO5 open transactions, EO6 fencing; EO2, EO4 and EO7 are I3, I19 and I1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim_clock.h"
#include "walrelay/lsn.h"
#include "walrelay/progress.h"

namespace walrelay::sim {

// Why a row cannot be published as it is.
enum class Flaw : uint8_t { kNone, kNullKey, kNullType, kBadTopic, kTooLarge };

enum class EventFate : uint8_t {
  kOpen,        // its transaction is in progress
  kRolledBack,  // or lost in a crash before it was flushed
  kCommitted,   // not flushed yet
  kDurable,
  kVanished,  // was durable, but the promoted server does not have it
};

struct Event {
  uint32_t key = 0;
  Flaw flaw = Flaw::kNone;
  uint32_t size = 0;
  EventFate fate = EventFate::kOpen;
  uint32_t order = 0;            // among the events of its key
  uint32_t present = 0;          // copies that are in Kafka
  bool appeared = false;         // appended at least once
  bool reported = false;         // its acknowledgement was reported to a relay, or it is excused
  bool acknowledged = false;     // reported, and not only excused
  bool excused = false;          // in the range of a gap that was reported, and not in Kafka
  bool covered = false;          // in that range
  bool settled = false;          // confirmed by a clean exit: must not be sent again
  bool remembered = false;       // published by the predecessor of a running pipeline: likewise
  bool too_large_alone = false;  // rejected in a batch of its own: on_error applies
  bool refused_alone = false;
  uint32_t appended = 0;    // number of appends, including copies that a broker lost later
  bool visible = false;     // its transaction has been visible to other sessions
  bool confirmed = false;   // ... after the synchronous standby had received it
  bool produced = false;    // a relay has passed it to the producer
  bool stored = false;      // a relay has not sent it, because a topic had it
  bool repeatable = false;  // an operator accepted that it may be published again
  MonoTime durable_at;      // when its commit was flushed
  Lsn commit_lsn;           // of its transaction
  Lsn hidden;               // position of the row, if its table was not published at the time
};

// A committed transaction in the WAL.
struct Commit {
  Lsn commit_lsn;
  std::vector<int> events;
};

class Oracle {
 public:
  explicit Oracle(const SimClock& clock) : clock_(clock) {}

  // --- truth ---
  int NewEvent(uint32_t key, Flaw flaw, uint32_t size);
  void OnRollback(int event) { events_[Index(event)].fate = EventFate::kRolledBack; }
  void OnCommit(Lsn commit_lsn, std::vector<int> events);
  // The transaction of `events` becomes visible to other sessions. `confirmed`: after the
  // synchronous standby received it.
  void OnVisible(const std::vector<int>& events, bool confirmed);
  // A standby that has the WAL up to `fork` is promoted.
  void OnTakenBack(Lsn fork);
  // From now on no event may be published before it is visible.
  void RequireVisible() { visibility_required_ = true; }
  void OnDurable(int event) {
    events_[Index(event)].fate = EventFate::kDurable;
    events_[Index(event)].durable_at = clock_.Now();
  }
  // The WAL is truncated at `end`: transactions that committed after it are lost.
  void OnLogTruncated(Lsn end);
  // A gap was reported: events of transactions before `end` that are not in Kafka are known to be
  // missing.
  void Excuse(Lsn end);
  // The table was not published when the row at `lsn` was written.
  void OnHidden(int event, Lsn lsn) { events_[Index(event)].hidden = lsn; }
  // A gap was reported: rows in [from, to) are known to have been hidden.
  void ExcuseHidden(Lsn from, Lsn to);
  // The relay cannot know of the hidden rows written so far.
  void ExcuseAllHidden() { ExcuseHidden(Lsn(), Lsn(UINT64_MAX)); }
  // From now on rows that cannot be published may be skipped.
  void AllowSkipping() { skipping_ = true; }
  void AllowSkippingTooLarge() { skipping_too_large_ = true; }
  // A fault occurred or a process was started. Each may cause records in flight to be repeated.
  void OnFault() { ++faults_; }

  // --- Kafka ---
  void OnProduced(int event);
  void OnAppended(int event, bool dead_letter);
  void OnLostByBroker(int event);
  // A relay does not send the event, because a topic has it.
  void OnStored(int event);
  void OnReported(int event);
  // Brokers rejected a batch that consists of this record.
  void OnRefusedAlone(int event, bool too_large);
  // Whether the event may be dead-lettered although its row has no flaw.
  bool WasRefused(int event) const {
    return events_[Index(event)].refused_alone || events_[Index(event)].too_large_alone;
  }

  // --- transactions ---
  // From now on consumers must not see an event twice.
  void RequireOnce() { once_ = true; }
  // An operator has accepted that what was published may be published again.
  void AllowRepeats();
  // The commit of a transaction with this event is decided. What its progress record says: every
  // event before `frontier`, and some of the transaction at `partial`, are published.
  void OnDecided(int event, Lsn frontier, Lsn partial);
  // The published events of the transaction must be its first ones.
  void CheckPrefix(Lsn commit_lsn);
  // The expected events of transactions before the frontier of `record` that are not in Kafka yet.
  // After the WAL was truncated, those behind its last transaction need not be.
  std::vector<int> MissingBefore(const Progress& record);
  void CheckPresent(const std::vector<int>& events);

  // --- confirmations ---
  void OnConfirmed(Lsn flush);
  // A relay records that every event of transactions that committed before it is published.
  void OnRecorded(Lsn frontier);
  // The row of the event is proven to be published: it may be deleted from its table.
  void CheckProven(int event);
  // A surface has said since `since` that every event is published.
  void CheckTruth(MonoTime since);
  // The relay exited cleanly after it had handled and confirmed everything up to `end`.
  void OnCleanEnd(Lsn end);
  // A pipeline replaces one that had read from `begin` on, and published everything up to `end`;
  // the process that knows this has ended.
  void OnSucceeded(Lsn begin, Lsn end);
  void OnMemoryLost();
  // The server has lost the confirmed position, or was replaced by another one.
  void OnConfirmedForgotten();

  // Whether Kafka has every expected event.
  bool Complete() const;
  // The events that are missing, for a message.
  std::string Missing() const;

  void Fail(std::string_view invariant, std::string what);
  bool failed() const { return !violation_.empty(); }
  const std::string& violation() const { return violation_; }

  const Event& event(int id) const { return events_[Index(id)]; }
  size_t event_count() const { return events_.size(); }
  uint64_t repeats() const { return repeats_; }
  // A hash of everything that the oracle has seen, with times. Identical histories have equal
  // digests.
  uint64_t digest() const { return digest_; }

 private:
  static size_t Index(int event) { return static_cast<size_t>(event); }
  bool Safe(const Event& event) const;
  void CheckSafe(Lsn position, std::string_view invariant, std::string_view what);
  bool Expected(const Event& event) const;
  // Whether it may be left unpublished as configured.
  bool Skipped(const Event& event) const;
  void CheckStored(int id);
  void CheckFirstAppearance(int id, const Event& event);
  void Digest(uint64_t what);

  const SimClock& clock_;
  std::vector<Event> events_;
  std::vector<Commit> commits_;              // in the server's current WAL
  size_t safe_commits_ = 0;                  // length of the acknowledged prefix
  std::vector<std::vector<int>> key_order_;  // by key: committed events
  std::vector<size_t> key_appeared_;         // by key: length of the prefix that has appeared
  size_t present_commits_ = 0;               // length of the prefix that is in Kafka
  bool once_ = false;
  bool truncated_ = false;
  bool skipping_ = false;
  bool visibility_required_ = false;
  bool skipping_too_large_ = false;
  uint32_t faults_ = 0;
  uint64_t repeats_ = 0;
  uint64_t digest_ = 14695981039346656037u;
  std::string violation_;
};

}  // namespace walrelay::sim
