// Whether the events would survive a failover: what the standbys of the DSN have of the slot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "slot/slot_copy.h"
#include "walrelay/slot_info.h"

namespace walrelay {

struct SourceConfig;

// A standby, as far as the synchronization of slots depends on it (Postgres 17 and later).
struct StandbyFacts {
  bool sync_replication_slots = false;
  bool hot_standby_feedback = false;
  std::string primary_slot_name;
  std::optional<bool> conninfo_has_database;  // absent: the role may not see primary_conninfo
  std::optional<SlotInfo> slot;               // of the relay's name
};

// Why the relay would not find a usable slot on the standby after its promotion. Pure.
//
// Source: Postgres documentation, "Logical Decoding Concepts", Replication Slot Synchronization;
// src/backend/replication/logical/slotsync.c.
std::vector<SlotCopyProblem> ProblemsOf(const StandbyFacts& standby, const std::string& slot);

// Connects to each host of the DSN. The result has those that are standbys of version 17 or later,
// and those that cannot be asked; it is empty for a DSN with one host. Blocks for at most five
// seconds per host; a byte on `interrupt_fd` ends it (-1: none). Errors: those of the DSN, and
// kCancelled.
absl::StatusOr<std::vector<SlotCopy>> ReadSlotCopies(const SourceConfig& source, int interrupt_fd);

}  // namespace walrelay
