// Judge: knows what was committed, sees what Kafka has and what is confirmed, and says what is
// wrong.
//
// An event is one row of the outbox. The judge reads nothing from the relay: truth comes from the
// simulated Postgres, appends and reports from the simulated Kafka, confirmations from the wire.
// The first violation decides a history.
//
// Invariants, numbered as in docs/reliability.md: I1 no loss, I2 no phantom, I3 order of first
// appearance, I5 confirm safety, I6 confirm sanity, I7 repetitions, I8 content, I9 bounds,
// I10 progress, I11 liveness towards Postgres, I13 gaps are told, I14 the operator's limit,
// I15 appends are bounded by faults, I16 a blocked row is named, I17 visibility.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim_clock.h"
#include "walrelay/lsn.h"

namespace walrelay::sim {

// What is wrong with a row, so that it cannot be published as it is.
enum class Flaw : uint8_t { kNone, kNullKey, kNullType, kBadTopic, kTooLarge };

enum class Fate : uint8_t {
  kOpen,        // its transaction is under way
  kRolledBack,  // for good, and so is what a crash took before it was flushed
  kCommitted,   // not flushed yet
  kDurable,
  kVanished,  // was durable, and is not known to the server that took over
};

struct Event {
  uint32_t key = 0;
  Flaw flaw = Flaw::kNone;
  uint32_t size = 0;
  Fate fate = Fate::kOpen;
  uint32_t order = 0;            // among the events of its key
  uint32_t present = 0;          // times that it stands in Kafka
  bool appeared = false;         // ever
  bool reported = false;         // a relay was told that it is acknowledged
  bool excused = false;          // behind a gap that was told
  bool settled = false;          // confirmed by a clean end: must not be sent again
  bool too_large_alone = false;  // its record was refused when it came alone: on_error applies
  bool refused_alone = false;
  uint32_t appended = 0;   // times that it was appended, also to a log that lost it
  bool visible = false;    // other sessions could see its transaction, at some time
  bool confirmed = false;  // and the synchronous standby had it before
  bool produced = false;   // a relay handed it to Kafka
  Lsn hidden;              // where it was written, if the publication did not have its table then
};

// A transaction of the log, as far as the judge needs it.
struct Commit {
  Lsn commit_lsn;
  std::vector<int> events;
};

class Judge {
 public:
  explicit Judge(const SimClock& clock) : clock_(clock) {}

  // --- truth ---
  int NewEvent(uint32_t key, Flaw flaw, uint32_t size);
  void OnRollback(int event) { events_[Index(event)].fate = Fate::kRolledBack; }
  void OnCommit(Lsn commit_lsn, std::vector<int> events);
  // Other sessions see its transaction; `confirmed`: not before the synchronous standby had it.
  void OnVisible(const std::vector<int>& events, bool confirmed);
  // A standby takes over that has the log up to `fork`.
  void OnTakenBack(Lsn fork);
  // From now on nothing may be published before it is visible.
  void RequireVisible() { visibility_required_ = true; }
  void OnDurable(int event) { events_[Index(event)].fate = Fate::kDurable; }
  // The log ends at `end` now: what was committed behind it is gone.
  void OnLogTruncated(Lsn end);
  // Events not in Kafka of transactions before `end` are known to be missing: a gap was told.
  void Excuse(Lsn end);
  // The publication did not have the table when the row at `lsn` was written.
  void OnHidden(int event, Lsn lsn) { events_[Index(event)].hidden = lsn; }
  // Rows of [from, to) are known to have been hidden: that was told.
  void ExcuseHidden(Lsn from, Lsn to);
  // Nobody could know of those that were written so far.
  void ExcuseAllHidden() { ExcuseHidden(Lsn(), Lsn(UINT64_MAX)); }
  // Rows that cannot be published may be left out from now on.
  void AllowSkipping() { skipping_ = true; }
  void AllowSkippingTooLarge() { skipping_too_large_ = true; }
  // A fault happened, or a process was started: each may repeat what is in flight.
  void OnFault() { ++faults_; }

  // --- Kafka ---
  void OnProduced(int event);
  void OnAppended(int event, bool dead_letter);
  void OnLostByBroker(int event) { --events_[Index(event)].present; }
  void OnReported(int event);
  // Brokers refused a record that was alone in its batch.
  void OnRefusedAlone(int event, bool too_large);
  // Whether a row of its may be dead-lettered although nothing is wrong with it.
  bool WasRefused(int event) const {
    return events_[Index(event)].refused_alone || events_[Index(event)].too_large_alone;
  }

  // --- confirmations ---
  void OnConfirmed(Lsn flush);
  // The relay ended in good order, having handled and confirmed everything up to `end`.
  void OnCleanEnd(Lsn end);
  // The server forgot what was confirmed, or is another one.
  void OnConfirmedForgotten();

  // Everything that must be in Kafka is there.
  bool Complete() const;
  // What is not, for a message.
  std::string Missing() const;

  void Fail(std::string_view invariant, std::string what);
  bool failed() const { return !violation_.empty(); }
  const std::string& violation() const { return violation_; }

  const Event& event(int id) const { return events_[Index(id)]; }
  size_t event_count() const { return events_.size(); }
  uint64_t repeats() const { return repeats_; }
  // Of everything that the judge saw, and when: equal for two histories that are the same.
  uint64_t digest() const { return digest_; }

 private:
  static size_t Index(int event) { return static_cast<size_t>(event); }
  bool Safe(const Event& event) const;
  bool Expected(const Event& event) const;
  void CheckFirstAppearance(int id, const Event& event);
  void Digest(uint64_t what);

  const SimClock& clock_;
  std::vector<Event> events_;
  std::vector<Commit> commits_;              // of the log that the server has now
  size_t safe_commits_ = 0;                  // so many from the front are acknowledged
  std::vector<std::vector<int>> key_order_;  // by key: committed events
  std::vector<size_t> key_appeared_;         // by key: so many from the front have appeared
  bool skipping_ = false;
  bool visibility_required_ = false;
  bool skipping_too_large_ = false;
  uint32_t faults_ = 0;
  uint64_t repeats_ = 0;
  uint64_t digest_ = 14695981039346656037u;
  std::string violation_;
};

}  // namespace walrelay::sim
