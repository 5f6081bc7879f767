// Scenario: the scenario of a history, as data.
//
// A seed determines a scenario, and a scenario determines a history. The parts of a scenario can be
// removed one by one: this is how a failing history is shrunk.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim_postgres.h"
#include "sim_producer.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"

namespace walrelay::sim {

enum class FaultKind : uint8_t {
#define WALRELAY_FAULT(name, weight, what) k##name,
#include "faults.def"
#undef WALRELAY_FAULT
};

std::string_view NameOf(FaultKind kind);

// Times are from the beginning of the history.
struct Fault {
  FaultKind kind{};
  Micros at{0};
  Micros length{0};     // of faults that last
  uint32_t amount = 0;  // target or intensity, depending on the kind
};

struct PlannedTransaction {
  Micros begin{0};
  Micros length{0};
  uint32_t rows = 1;
  bool rolled_back = false;
  bool savepoint = false;  // some of its rows are rolled back to a savepoint
  bool others = false;     // only rows of other, unpublished tables
  bool mixed = false;      // rows of another table, updates, deletes
  bool asynchronous = false;
  bool of_origin = false;  // written by replication
  uint64_t seed = 0;       // of its rows
};

struct Scenario {
  uint64_t seed = 0;
  Config config;
  SimPostgres::Options postgres;
  ProducerOptions producer;
  Micros network_latency{500};
  size_t network_room = 20'000;
  int keys = 10;
  int flaws = 0;     // percentage of rows that cannot be published
  int messages = 0;  // percentage of events that are logical messages instead of rows
  bool slot_exists = true;
  bool sampler = true;  // a second connection detects a shutdown
  bool second_relay = false;
  bool topics_exist = true;
  int dead_letter_partitions = 1;
  bool kafka_shows_settings = true;
  int most_in_sync = SimKafka::kReplicas;
  std::vector<PlannedTransaction> transactions;
  std::vector<Fault> faults;

  // When the last fault is over and the last transaction has ended.
  Micros End() const;
};

Scenario MakePlan(uint64_t seed);

}  // namespace walrelay::sim
