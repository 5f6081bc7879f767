// What travels inside CopyData while a slot streams: XLogData and keepalives towards the client,
// standby status updates towards the server.
//
// Source: Postgres documentation, "Streaming Replication Protocol", START_REPLICATION.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/replication_source.h"

namespace walrelay::pgoutput {

// The two positions in its header are left out on purpose: they go backwards and tie, are 0/0 for
// some messages, and say nothing that may be confirmed.
struct XLogData {
  WallTime sent;  // the server's clock when it was sent
  std::string_view payload;
};

struct Keepalive {
  Lsn wal_end;  // the server has decoded up to here
  WallTime sent;
  bool reply_requested = false;
};

using CopyData = std::variant<XLogData, Keepalive>;

// The result points into `bytes`. Errors: WR-2401 (ProtocolViolation).
absl::StatusOr<CopyData> DecodeCopyData(std::string_view bytes);

constexpr size_t kStandbyStatusSize = 34;
std::array<char, kStandbyStatusSize> EncodeStandbyStatus(const StandbyStatus& status);

}  // namespace walrelay::pgoutput
