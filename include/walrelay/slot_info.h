// SlotInfo: a row of pg_replication_slots.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

// Named as the columns. Those that the server's version lacks keep their defaults.
struct SlotInfo {
  std::string plugin;
  std::string database;
  bool logical = true;  // slot_type
  bool temporary = false;
  bool active = false;
  // 0: no process reads the slot.
  int active_pid = 0;
  // When that process began; absent if another role runs it, or if it has just ended.
  std::optional<WallTime> reader_started;
  // 0/0 once the slot is invalidated and its WAL removed.
  Lsn restart_lsn;
  Lsn confirmed_flush_lsn;
  std::string wal_status;                  // reserved, extended, unreserved, lost
  std::optional<int64_t> safe_wal_size;    // remaining up to the server's limit; absent without one
  std::string invalidation_reason;         // Postgres 17 and later
  std::optional<WallTime> inactive_since;  // Postgres 17 and later
  bool synced = false;                     // Postgres 17 and later: synchronized from a primary
  bool failover = false;                   // Postgres 17 and later: synchronized to standbys

  // The server has removed WAL that the slot needs, or has invalidated it for another reason.
  bool lost() const { return wal_status == "lost" || !invalidation_reason.empty(); }
};

// The temporary slot that exists while `walrelay recover` replaces this one. Names have at most 63
// bytes.
inline std::string RecoverySlotOf(std::string_view slot) {
  constexpr std::string_view kSuffix = "_recovering";
  return std::string(slot.substr(0, 63 - kSuffix.size())) + std::string(kSuffix);
}

}  // namespace walrelay
