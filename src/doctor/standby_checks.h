// Whether the events would survive a failover: what the standbys of the DSN have of the slot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "doctor/findings.h"
#include "postgres/connection.h"
#include "walrelay/config.h"
#include "walrelay/slot_info.h"

namespace walrelay {

// A standby, as far as the synchronization of slots depends on it (Postgres 17 and later).
struct StandbyFacts {
  bool sync_replication_slots = false;
  bool hot_standby_feedback = false;
  std::string primary_slot_name;
  std::optional<bool> conninfo_has_database;  // absent: the role may not see primary_conninfo
  std::optional<SlotInfo> slot;               // of the relay's name
};

struct StandbyProblem {
  std::string text;
  std::string remedy;  // a statement to run on the standby
};

// Why the relay would not find a usable slot on the standby after its promotion. Pure.
//
// Source: Postgres documentation, "Logical Decoding Concepts", Replication Slot Synchronization;
// src/backend/replication/logical/slotsync.c.
std::vector<StandbyProblem> ProblemsOf(const StandbyFacts& standby, const std::string& slot);

// Connects to each host of the DSN but the one of `connection`, and checks those that are standbys.
// Nothing for a slot without failover, and for a DSN with one host.
absl::Status CheckStandbys(PgConnection& connection, const Config& config, Findings& out);

}  // namespace walrelay
