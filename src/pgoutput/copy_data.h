// The contents of CopyData while a slot streams: XLogData and keepalives from the server, standby
// status updates from the client.
//
// Big-endian throughout. Only the fields that walrelay uses are kept.
//
// Source: Postgres documentation, "Streaming Replication Protocol", START_REPLICATION;
// src/backend/replication/walsender.c, XLogSendLogical and WalSndKeepalive.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/replication_source.h"

namespace walrelay::pgoutput {

// The positions of its header can go backwards or be equal, are 0/0 for some messages, and are
// never safe to confirm. The first one identifies a row, together with its transaction; the other
// one is omitted. `payload` is one pgoutput message; it may be empty, which Decoder rejects.
struct XLogData {
  WallTime sent;  // send time by the server's clock
  std::string_view payload;
  Lsn start;  // of the WAL record of a row; 0/0 for descriptions of tables
};

// Also sent in response to a status update that requests a reply.
// `sent` is by the server's clock. `reply_requested`: the server disconnects the client after
// wal_sender_timeout without a status update.
struct Keepalive {
  Lsn wal_end;  // the server has decoded up to here
  WallTime sent;
  bool reply_requested = false;
};

using CopyData = std::variant<XLogData, Keepalive>;

// The result points into `bytes`. Errors: WR-2401 (ProtocolViolation).
// Pure. A keepalive must end with its flag; the payload of an XLogData takes the rest of `bytes`.
// An empty input and an unknown type are errors.
absl::StatusOr<CopyData> DecodeCopyData(std::string_view bytes);

// 'r', three positions, a timestamp and a flag.
constexpr size_t kStandbyStatusSize = 34;
// "flush" and "apply" are the same position: walrelay has nothing to apply.
// Layout: Int64 written, flushed, applied, client clock, and the Byte1 flag that requests a reply.
// A flushed position of 0/0 confirms nothing. Positions are sent unchanged: the caller must not
// pass one that was not received from this server.
std::array<char, kStandbyStatusSize> EncodeStandbyStatus(const StandbyStatus& status);

}  // namespace walrelay::pgoutput
