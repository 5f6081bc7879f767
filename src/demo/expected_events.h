// ExpectedEvents: the events that the demonstration has committed, to verify the topics.
//
// The writer maintains it, independently of the relay: it records each committed event with its
// position in the order of its key, and the number of rolled-back events. Verify() compares the
// topics with it.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "sinks/kafka/topics/topic_reader.h"
#include "walrelay/clock.h"

namespace walrelay {

struct ExpectedEvent {
  std::string id;
  std::string aggregate_type;
  std::string aggregate_id;
  std::string event_type;
  uint64_t number = 0;  // position among the key's committed events, from 1
};

// Counts of events, except where another unit is named.
struct Verdict {
  size_t committed = 0;
  size_t rolled_back = 0;
  // In the topics, duplicates included.
  size_t records = 0;
  // Distinct aggregate ids that have a committed event.
  size_t keys = 0;
  // Committed events without a record.
  size_t lost = 0;
  size_t phantoms = 0;    // events that were rolled back or never written
  size_t disordered = 0;  // first appearances before an earlier event of the same key
  size_t damaged = 0;     // key, header or payload differs from the written event
  // Records of an event after its first; allowed by at-least-once delivery.
  size_t duplicates = 0;

  // False also if nothing was committed: an empty comparison proves nothing.
  bool good() const { return lost + phantoms + disordered + damaged == 0 && committed > 0; }
};

class ExpectedEvents {
 public:
  // One transaction whose COMMIT succeeded; in the order of its rows. REQUIRES: called in the
  // commit order of each key, with ids that were not used before.
  void Committed(const std::vector<ExpectedEvent>& events);
  // One rollback, of a transaction or to a savepoint, that discarded `events` events.
  void RolledBack(size_t events);

  size_t committed() const;
  // Calls of Committed().
  size_t transactions() const;
  // Calls of RolledBack(), rollbacks to a savepoint included.
  size_t transactions_rolled_back() const;
  // The number that the next committed event of a key will have.
  // From 1. Changes nothing: the caller numbers several events of one transaction itself.
  uint64_t NextNumber(const std::string& aggregate_id) const;

  // `records`: of each partition in offset order. The order is checked among the first appearances
  // of a key's events, because a restarted relay repeats a run of events.
  Verdict Verify(const std::vector<StoredRecord>& records) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, ExpectedEvent> events_;   // by id; guarded by mutex_
  std::map<std::string, uint64_t> last_numbers_;  // by key; guarded by mutex_
  size_t transactions_ = 0;                       // guarded by mutex_
  size_t rolled_back_transactions_ = 0;           // guarded by mutex_
  size_t rolled_back_events_ = 0;                 // guarded by mutex_
};

// The payload of an event, in the table and in its record.
// With the spacing in which Postgres prints jsonb, so that the column's type does not change it.
std::string PayloadOf(const ExpectedEvent& event);

}  // namespace walrelay
