// OrderWriter: the application of the demonstration.
//
// Its thread commits orders: each is a transaction that writes one to three events into the outbox.
// Some transactions are rolled back, completely or to a savepoint. It records the result in the
// ledger.
#pragma once

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "demo/ledger.h"
#include "postgres/connection.h"
#include "walrelay/config.h"

namespace walrelay {

class OrderWriter {
 public:
  // Writes `transactions_per_second` until Stop(). `table`: the qualified, quoted name. `ledger`
  // must outlive the writer.
  OrderWriter(PgConnection connection, std::string table, double transactions_per_second,
              Ledger& ledger);
  ~OrderWriter();

  // Waits for the current transaction. Returns the error that stopped the writer early, if any.
  absl::Status Stop();

 private:
  void Run();
  absl::Status OneTransaction();
  LedgerEvent NewEvent(const std::string& order, std::string_view type, std::string_view event_type,
                       const std::vector<LedgerEvent>& before);
  absl::Status Insert(const LedgerEvent& event);
  absl::Status Execute(const std::string& sql);

  PgConnection connection_;
  const std::string table_;
  const double rate_;
  Ledger& ledger_;
  std::mt19937_64 random_;
  std::atomic<bool> stopping_{false};
  absl::Status status_;
  std::thread thread_;  // last: starts after all other members are initialized
};

}  // namespace walrelay
