// OrderWriter: the shop of the demonstration.
//
// On a thread of its own it takes orders: each a real transaction that writes one to three events
// into the outbox, some of which roll back, wholly or to a savepoint. What it did goes into the
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
  // `transactions_per_second` until Stop(). `table`: its qualified, quoted name. `ledger` must
  // outlive the writer.
  OrderWriter(PgConnection connection, std::string table, double transactions_per_second,
              Ledger& ledger);
  ~OrderWriter();

  // Waits for the transaction under way. The error that ended the writing early, if one did.
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
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace walrelay
