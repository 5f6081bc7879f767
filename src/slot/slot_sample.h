// SlotSample: the state of the slot at one poll, and values derived from it.
//
// Plain data, produced by the sampler (src/postgres) and read by status, metrics and doctor. Bytes
// are bytes of WAL. Values that the server's version does not have, or that the role may not see,
// are absent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/slot_info.h"
#include "walrelay/xid_horizon.h"

namespace walrelay {

// How close the slot is to being invalidated. Ordered.
enum class SlotRisk : uint8_t {
  kNone,
  kNotice,    // half of the limit is used
  kWarning,   // four fifths of the limit are used, or less than an hour is left
  kCritical,  // nearly all is used, or less than ten minutes are left, or it is "unreserved"
  kLost,      // the server invalidated it
};

// The oldest open transaction on the server. Postgres retains the WAL from its beginning on,
// however far the slot is confirmed.
struct OldestTransaction {
  int pid = 0;              // 0: a prepared transaction
  std::string prepared_as;  // the prepared transaction's name
  std::string user;
  std::string application;
  std::string database;
  std::optional<Micros> age;  // only for a role that may see it (pg_read_all_stats)
};

// From pg_stat_replication_slots (Postgres 14 and later): since the last reset of the statistics.
struct SpillCounters {
  uint64_t spilled_transactions = 0;
  uint64_t spilled_bytes = 0;
  uint64_t decoded_bytes = 0;
};

// The operator's limit for the WAL that the slot retains, independent of the server's limit:
// source.max_retained_wal and source.on_retained_limit.
// `bytes` > 0: without a limit there is no such object.
struct WalRetentionLimit {
  int64_t bytes = 0;
  bool drop_slot = false;  // at the limit the relay drops the slot; otherwise it only alerts
};

// The wait event of the server process that reads the slot, and its type, as pg_stat_activity shows
// them. "": the process does not wait, or the role may not see the event.
struct ReaderActivity {
  std::string wait_type;
  std::string wait_event;
};

// Why a stream sends nothing although WAL was flushed that its reader has not received.
enum class SilenceCause : uint8_t {
  kDecoding,     // the process works: WAL of other tables, a large transaction
  kStandby,      // it waits for a standby of synchronized_standby_slots
  kUnexplained,  // it waits for something else, or has ended without the reader's knowledge
};

// A stream that sends nothing: at each sample of that time, for the same cause.
struct StreamSilence {
  SilenceCause cause = SilenceCause::kDecoding;
  Micros lasted{0};        // of this cause
  Micros idle{0};          // of any cause but kDecoding; at least `lasted` for these
  int backend_pid = 0;     // the server process that streams to the reader, or did
  Lsn received;            // the position that the reader does not get past
  std::string wait_event;  // in the last sample; "": the process works, or reads the slot no more
};

// A slot of synchronized_standby_slots whose standby has not confirmed the WAL.
struct AwaitedStandby {
  std::string slot;
  std::string state;  // "does not exist", "has no reader", ...

  friend bool operator==(const AwaitedStandby&, const AwaitedStandby&) = default;
};

struct SlotSample {
  WallTime taken;
  bool exists = false;  // the following members, except `flushed`, require an existing slot
  SlotInfo row;
  Lsn wal_end;
  int64_t max_retained_bytes = -1;  // max_slot_wal_keep_size; -1: no limit
  std::optional<WalRetentionLimit> budget;
  std::optional<SpillCounters> spill;
  std::optional<XidReading> xids;            // absent on a standby server
  std::optional<OldestTransaction> held_by;  // queried only if it holds back much WAL
  Lsn flushed;                               // end of the flushed WAL; 0/0 on a standby server
  std::optional<ReaderActivity> activity;    // absent without a process that reads the slot
  std::vector<AwaitedStandby> standbys;      // queried only while the process waits for them
  // idle_replication_slot_timeout (Postgres 18); absent if it is off.
  std::optional<Micros> idle_timeout;

  // From this sample and previous ones.
  // How long WAL has been unconfirmed, or a lower bound; absent if one sample cannot tell.
  std::optional<Micros> lag_age;
  std::optional<double> wal_bytes_per_second;        // absent until measured
  std::optional<double> confirmed_bytes_per_second;  // absent until measured
  std::optional<Micros> time_to_loss;                // absent: not foreseeable
  std::optional<Micros> time_until_caught_up;        // absent: caught up, or not getting closer
  SlotRisk risk = SlotRisk::kNone;
  std::optional<StreamSilence> silence;  // of the relay's own stream; absent while it is up to date

  uint64_t lag_bytes() const { return BytesBetween(row.confirmed_flush_lsn, wal_end); }
  uint64_t retained_bytes() const { return BytesBetween(row.restart_lsn, wal_end); }
  // Retained although confirmed, because transactions were open.
  uint64_t held_bytes() const { return BytesBetween(row.restart_lsn, row.confirmed_flush_lsn); }

  // Remaining up to the operator's limit; negative beyond it. Absent without a limit, and if the
  // slot retains nothing (any more).
  std::optional<int64_t> budget_left() const {
    return budget && row.restart_lsn.valid()
               ? std::optional(budget->bytes - static_cast<int64_t>(retained_bytes()))
               : std::nullopt;
  }
  // WAL that can still be written before the first limit, the server's or the operator's, is
  // reached.
  std::optional<int64_t> reserve_bytes() const {
    const auto left = budget_left();
    return left && row.safe_wal_size ? std::optional(std::min(*left, *row.safe_wal_size))
           : left                    ? left
                                     : row.safe_wal_size;
  }
  // Whether the operator's limit is reached first.
  // False without an operator's limit.
  bool operator_limit_applies() const { return budget_left() && budget_left() == reserve_bytes(); }
  // False without one.
  bool past_budget() const { return budget_left().value_or(1) <= 0; }
  // When the server invalidates the slot because no process reads it; absent if it does not.
  // Slots that are synchronized from a primary are exempt.
  std::optional<WallTime> idle_until() const {
    return idle_timeout && !row.active && row.inactive_since && !row.lost()
               ? std::optional(*row.inactive_since + *idle_timeout)
               : std::nullopt;
  }
  // Beyond the server's limit: a checkpoint terminates the reader and invalidates the slot.
  bool past_server_limit() const {
    return row.wal_status == "unreserved" || row.wal_status == "lost";
  }
};

}  // namespace walrelay
