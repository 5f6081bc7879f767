// SlotSample: what one look at the slot from outside has found, and what follows from it.
//
// Plain data, made by the sampler (src/postgres) and read by whoever shows it. Bytes are bytes of
// log. What the server's version does not know, or the role may not see, is absent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay {

// How near the slot is to being lost. Ordered.
enum class SlotRisk : uint8_t {
  kNone,
  kNotice,    // half of what it may retain is used
  kWarning,   // four fifths are, or less than an hour is left
  kCritical,  // nearly all is, or less than ten minutes are left, or the server has given it up
  kLost,      // the server invalidated it
};

// The oldest transaction that is open on the server. The log behind its beginning cannot be given
// free, however far the slot is confirmed.
struct LogHolder {
  int pid = 0;              // 0: a prepared transaction
  std::string prepared_as;  // its name, then
  std::string user;
  std::string application;
  std::string database;
  std::optional<Micros> age;  // only for a role that may see it (pg_read_all_stats)
};

// Of pg_stat_replication_slots (Postgres 14 and later): since the server's statistics were reset.
struct SpillCounters {
  uint64_t spilled_transactions = 0;
  uint64_t spilled_bytes = 0;
  uint64_t decoded_bytes = 0;
};

// How much log the operator lets the slot keep, whatever the server would allow: the
// configuration's source.max_retained_wal and source.on_retained_limit.
struct RetentionBudget {
  int64_t bytes = 0;
  bool drop_slot = false;  // at the limit the relay drops the slot; else it only says so
};

struct SlotSample {
  WallTime taken;
  bool exists = false;  // all below is of a slot that does
  bool active = false;
  int active_pid = 0;
  Lsn wal_end;
  Lsn confirmed;
  Lsn restart;
  std::string wal_status;           // reserved, extended, unreserved, lost
  std::string invalidation_reason;  // Postgres 17 and later
  std::optional<WallTime> inactive_since;
  std::optional<int64_t> safe_wal_bytes;  // the server's limit leaves so much; absent without one
  int64_t max_retained_bytes = -1;        // max_slot_wal_keep_size; -1: no limit
  std::optional<RetentionBudget> budget;
  std::optional<SpillCounters> spill;
  std::optional<LogHolder> held_by;  // looked for when it holds much

  // From this look and those before it.
  Micros lag_age{0};                           // since when the log has been beyond `confirmed`
  std::optional<double> wal_bytes_per_second;  // absent until there was time to measure
  std::optional<double> confirmed_bytes_per_second;  // likewise
  std::optional<Micros> time_to_loss;                // absent: not in sight
  std::optional<Micros> time_until_caught_up;        // absent: caught up, or not coming nearer
  SlotRisk risk = SlotRisk::kNone;

  uint64_t lag_bytes() const { return BytesBetween(confirmed, wal_end); }
  uint64_t retained_bytes() const { return BytesBetween(restart, wal_end); }
  // Retained although it is confirmed: transactions were open.
  uint64_t held_bytes() const { return BytesBetween(restart, confirmed); }

  // What the operator's limit leaves; below 0 past it. Absent without one, and of a slot that
  // retains nothing (any more).
  std::optional<int64_t> budget_left() const {
    return budget && restart.valid()
               ? std::optional(budget->bytes - static_cast<int64_t>(retained_bytes()))
               : std::nullopt;
  }
  // What may still be written before the first limit is reached, the server's or the operator's.
  std::optional<int64_t> reserve_bytes() const {
    const auto left = budget_left();
    return left && safe_wal_bytes ? std::optional(std::min(*left, *safe_wal_bytes))
           : left                 ? left
                                  : safe_wal_bytes;
  }
  // Whether that is the operator's.
  bool budget_binds() const { return budget_left() && budget_left() == reserve_bytes(); }
  bool past_budget() const { return budget_left().value_or(1) <= 0; }
  // Past what the server keeps: a checkpoint ends the reader and gives the slot up.
  bool past_server_limit() const { return wal_status == "unreserved" || wal_status == "lost"; }
};

}  // namespace walrelay
