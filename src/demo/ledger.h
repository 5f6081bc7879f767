// Ledger: what the demonstration wrote, and whether Kafka says the same.
//
// Kept by the writer, apart from the relay: each event with its place in the order of its key,
// whether its transaction committed, and when. Verify() holds the topics against it.
//
// Threads: one writes while others read; every method may be called from any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kafka/topic_dump.h"
#include "walrelay/clock.h"

namespace walrelay {

struct LedgerEvent {
  std::string id;
  std::string aggregate_type;
  std::string aggregate_id;
  std::string event_type;
  uint64_t number = 0;  // of the key's events, from 1, rolled back ones not counted
};

struct Verdict {
  size_t committed = 0;
  size_t rolled_back = 0;
  size_t records = 0;
  size_t keys = 0;
  size_t lost = 0;
  size_t phantoms = 0;    // of transactions that rolled back, or never were
  size_t disordered = 0;  // first appearances that come before an earlier event of their key
  size_t damaged = 0;     // with another key, header or payload than was written
  size_t duplicates = 0;

  bool good() const { return lost + phantoms + disordered + damaged == 0 && committed > 0; }
};

class Ledger {
 public:
  void Committed(const std::vector<LedgerEvent>& events);
  void RolledBack(size_t events);

  size_t committed() const;
  size_t transactions() const;
  size_t transactions_rolled_back() const;
  // The number that the next committed event of a key will have.
  uint64_t NextNumber(const std::string& aggregate_id) const;

  Verdict Verify(const std::vector<StoredRecord>& records) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, LedgerEvent> events_;     // by id; guarded by mutex_
  std::map<std::string, uint64_t> last_numbers_;  // by key; guarded by mutex_
  size_t transactions_ = 0;                       // guarded by mutex_
  size_t rolled_back_transactions_ = 0;           // guarded by mutex_
  size_t rolled_back_events_ = 0;                 // guarded by mutex_
};

// The payload that is written for an event, and looked for in its record.
std::string PayloadOf(const LedgerEvent& event);

}  // namespace walrelay
