// The two scalar types that Postgres' replication protocols share: positions, and timestamps in
// microseconds since 2000-01-01 UTC.
#pragma once

#include "base/byte_reader.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay::pgoutput {

// Postgres counts from 2000, not from 1970: POSTGRES_EPOCH_JDATE in
// src/include/datatype/timestamp.h.
constexpr WallTime kPostgresEpoch = std::chrono::sys_days(std::chrono::year(2000) / 1 / 1);

// REQUIRES: the sum is in the range of WallTime. ReadTimestamp() checks it for bytes of the
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

// A time that WallTime cannot represent (beyond the year 294,000) is invalid.
[[nodiscard]] inline bool ReadTimestamp(ByteReader& in, WallTime& out) {
  constexpr int64_t kLatest = (WallTime::max() - kPostgresEpoch).count();
  int64_t micros = 0;
  if (!in.Read(micros) || micros > kLatest) {
    return false;
  }
  out = FromPostgresTime(micros);
  return true;
}

}  // namespace walrelay::pgoutput
