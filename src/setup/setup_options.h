// SetupOptions: what `walrelay setup` was asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "setup/new_table.h"
#include "setup/platform.h"
#include "walrelay/config/prune.h"
#include "walrelay/secret.h"

namespace walrelay {

struct SetupOptions {
  bool create_table = false;             // create the outbox tables that do not exist
  int64_t max_record_bytes = 1'000'000;  // limits the rows of these tables: kafka.max_record_bytes
  std::optional<NewPartitions> partitions;  // of the tables that are created
  std::string role;                         // create this role, with its privileges; "": none
  Secret password;                          // of the role, also if it exists; empty: not set
  bool failover = false;                    // Postgres 17+: a slot that is synchronized to standbys
  PruneConfig prune;                        // the role gets the privileges for it
  // nullptr: PlanSetup() determines it from the roles of the server.
  const Platform* platform = nullptr;
};

}  // namespace walrelay
