// `walrelay demo`: a demonstration that needs no existing Postgres or Kafka.
//
// It commits transactions in a Postgres server, relays them with `walrelay run` to Kafka brokers,
// kills the relay half-way, and finally compares the topics with the committed events.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace walrelay {

// Times are those of the demonstration, not limits of the relay.
struct DemoOptions {
  std::string postgres;  // a DSN; "": a temporary cluster
  std::string kafka;     // bootstrap servers; "": in-process brokers
  std::string http;      // address of the relay's HTTP listener; "": a free loopback port
  // How long orders are written: one half before the SIGKILL, one half after the restart.
  int seconds = 8;
  // REQUIRES: rate > 0.
  double rate = 10;           // transactions a second
  bool keep_running = false;  // until Ctrl-C
};

// Prints to standard output, and removes what it created. Blocks; SIGINT and SIGTERM end it early.
// Errors: WR-5006, and those of the servers.
// REQUIRES: no other thread of the process handles SIGINT or SIGTERM, which the demonstration takes
// over while it runs. `options` must outlive the call. WR-5006 also means that records in Kafka
// differ from the committed events. In a server that the user names it uses a schema, a
// publication, a slot and topics with a random name, and removes them even after an error.
absl::Status RunDemo(const DemoOptions& options);

}  // namespace walrelay
