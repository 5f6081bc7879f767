// `walrelay demo`: a demonstration that needs no existing Postgres or Kafka.
//
// It commits transactions in a Postgres server, relays them with `walrelay run` to Kafka brokers,
// kills the relay half-way, and finally compares the topics with the committed events.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace walrelay {

struct DemoOptions {
  std::string postgres;  // a DSN; "": a temporary cluster
  std::string kafka;     // bootstrap servers; "": in-process brokers
  std::string http;      // address of the relay's HTTP listener; "": a free loopback port
  int seconds = 8;
  double rate = 10;           // transactions a second
  bool keep_running = false;  // until Ctrl-C
};

// Prints to standard output, and removes what it created. Blocks; SIGINT and SIGTERM end it early.
// Errors: WR-5006, and those of the servers.
absl::Status RunDemo(const DemoOptions& options);

}  // namespace walrelay
