// OrderWriter: the application of the demonstration.
//
// Its thread commits orders: each is a transaction that writes one to three events into the outbox.
// Some transactions are rolled back, completely or to a savepoint. It records the result in the
// expected.
//
// The pace has no back-pressure: a slow server makes the next transactions follow one another
// without a pause.
#pragma once

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "demo/expected_events.h"
#include "postgres/connection.h"

namespace walrelay {

class OrderWriter {
 public:
  // Writes `transactions_per_second` until Stop(). `table`: the qualified, quoted name. `expected`
  // must outlive the writer.
  // Starts the thread. Takes the connection, which no other thread may use. REQUIRES:
  // transactions_per_second > 0.
  OrderWriter(PgConnection connection, std::string table, double transactions_per_second,
              ExpectedEvents& expected);
  // Calls Stop(), and ignores its result.
  ~OrderWriter();

  // Waits for the current transaction. Returns the error that stopped the writer early, if any.
  // Blocks for one interval of the rate and one transaction at most (30 seconds per statement). May
  // be called again. Afterwards the expected events are final. Not thread-safe.
  absl::Status Stop();

 private:
  void Run();
  absl::Status OneTransaction();
  ExpectedEvent NewEvent(const std::string& order, std::string_view type,
                         std::string_view event_type, const std::vector<ExpectedEvent>& before);
  absl::Status Insert(const ExpectedEvent& event);
  absl::Status Execute(const std::string& sql);

  PgConnection connection_;
  const std::string table_;
  const double rate_;
  ExpectedEvents& expected_;
  std::mt19937_64 random_;
  std::atomic<bool> stopping_{false};
  absl::Status status_;
  std::thread thread_;  // last: starts after all other members are initialized
};

}  // namespace walrelay
