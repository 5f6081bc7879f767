// The two scalar types that Postgres' replication protocols share: positions, and timestamps in
// microseconds since 2000-01-01 UTC.
#pragma once

#include <algorithm>

#include "base/byte_reader.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay::pgoutput {

// Postgres counts from 2000, not from 1970: POSTGRES_EPOCH_JDATE in
// src/include/datatype/timestamp.h.
constexpr WallTime kPostgresEpoch = std::chrono::sys_days(std::chrono::year(2000) / 1 / 1);

// REQUIRES: the sum is in the range of WallTime. ReadTimestamp() ensures it for bytes of the
// network.
constexpr WallTime FromPostgresTime(int64_t micros) {
  return kPostgresEpoch + Micros(micros);
}
// REQUIRES: the difference fits into 64 bits, which is so for every time after the year -290,000.
constexpr int64_t ToPostgresTime(WallTime time) {
  return (time - kPostgresEpoch).count();
}

// False if fewer than eight bytes are left; `out` is unchanged then. 0/0 is valid input.
[[nodiscard]] inline bool ReadLsn(ByteReader& in, Lsn& out) {
  uint64_t value = 0;
  if (!in.Read(value)) {
    return false;
  }
  out = Lsn(value);
  return true;
}

// No clock shows a time outside of these limits, but a replication origin may set any, also
// `infinity`. Everything that computes with a time, or writes one, relies on these limits.
constexpr WallTime kEarliestTime = std::chrono::sys_days(std::chrono::year(1970) / 1 / 1);
constexpr WallTime kLatestTime = std::chrono::sys_days(std::chrono::year(9999) / 12 / 31);

// Returns the nearest limit for a time outside of them: a transaction is never rejected for its
// time. False if fewer than eight bytes are left; `out` is unchanged then.
[[nodiscard]] inline bool ReadTimestamp(ByteReader& in, WallTime& out) {
  int64_t micros = 0;
  if (!in.Read(micros)) {
    return false;
  }
  out = FromPostgresTime(
      std::clamp(micros, ToPostgresTime(kEarliestTime), ToPostgresTime(kLatestTime)));
  return true;
}

}  // namespace walrelay::pgoutput
