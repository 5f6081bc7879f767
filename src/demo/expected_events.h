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

#include "kafka/topic_reader.h"
#include "walrelay/clock.h"

namespace walrelay {

struct ExpectedEvent {
  std::string id;
  std::string aggregate_type;
  std::string aggregate_id;
  std::string event_type;
  uint64_t number = 0;  // position among the key's committed events, from 1
};

struct Verdict {
  size_t committed = 0;
  size_t rolled_back = 0;
  size_t records = 0;
  size_t keys = 0;
  size_t lost = 0;
  size_t phantoms = 0;    // events that were rolled back or never written
  size_t disordered = 0;  // first appearances before an earlier event of the same key
  size_t damaged = 0;     // key, header or payload differs from the written event
  size_t duplicates = 0;

  bool good() const { return lost + phantoms + disordered + damaged == 0 && committed > 0; }
};

class ExpectedEvents {
 public:
  void Committed(const std::vector<ExpectedEvent>& events);
  void RolledBack(size_t events);

  size_t committed() const;
  size_t transactions() const;
  size_t transactions_rolled_back() const;
  // The number that the next committed event of a key will have.
  uint64_t NextNumber(const std::string& aggregate_id) const;

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
std::string PayloadOf(const ExpectedEvent& event);

}  // namespace walrelay
