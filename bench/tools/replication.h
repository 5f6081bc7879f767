// What the readers of a slot among the benchmark's tools share: connection, stream, status updates.
//
// Source: Postgres documentation, "Streaming Replication Protocol".
#pragma once

#include <endian.h>
#include <errno.h>
#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace walrelay::bench {

inline constexpr int64_t kPostgresEpoch = 946'684'800'000'000;  // in Unix microseconds

[[noreturn]] inline void Fail(std::string_view why) {
  std::fprintf(stderr, "%s: %.*s\n", program_invocation_short_name, static_cast<int>(why.size()),
               why.data());
  std::exit(1);
}

// In the byte order of the bytes.
template <typename T>
T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// A connection that streams from the slot's confirmed position. Exits if that fails.
inline PGconn* StartStream(const std::string& dsn, const std::string& slot,
                           const std::string& publication) {
  PGconn* const connection = PQconnectdb((dsn + " replication=database").c_str());
  PGresult* started = PQexec(
      connection, ("START_REPLICATION SLOT " + slot +
                   " LOGICAL 0/0 (proto_version '1', publication_names '" + publication + "')")
                      .c_str());
  if (PQresultStatus(started) != PGRES_COPY_BOTH) {
    Fail(PQerrorMessage(connection));
  }
  PQclear(started);
  return connection;
}

// Confirms everything before `lsn`; 0: nothing.
inline void SendStatus(PGconn* connection, uint64_t lsn) {
  // 'r', written, flushed, applied, time, whether a reply is requested.
  char status[34] = {'r'};
  const uint64_t position = htobe64(lsn);
  for (int i = 0; i < 3; ++i) {
    std::memcpy(status + 1 + 8 * i, &position, sizeof(position));
  }
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const uint64_t time = htobe64(static_cast<uint64_t>(micros.count() - kPostgresEpoch));
  std::memcpy(status + 25, &time, sizeof(time));
  if (PQputCopyData(connection, status, sizeof(status)) != 1 || PQflush(connection) != 0) {
    Fail(PQerrorMessage(connection));
  }
}

}  // namespace walrelay::bench
