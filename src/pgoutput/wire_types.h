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

constexpr WallTime FromPostgresTime(int64_t micros) {
  return kPostgresEpoch + Micros(micros);
}
constexpr int64_t ToPostgresTime(WallTime time) {
  return (time - kPostgresEpoch).count();
}

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
