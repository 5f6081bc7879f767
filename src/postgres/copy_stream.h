// CopyStream: the CopyBoth stream of a replication connection, over libpq.
//
// Only Finish() blocks. Not thread-safe. `connection` must outlive the stream.
//
// Source: Postgres documentation, "Asynchronous Command Processing" and "Functions Associated with
// the COPY Command".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "postgres/pending_messages.h"
#include "walrelay/clock.h"

namespace walrelay {

class CopyStream {
 public:
  // For a connection in CopyBoth mode: in any other mode libpq returns an error to each call.
  explicit CopyStream(PgConnection& connection) : connection_(connection) {}

  // Sets the connection to non-blocking mode. Errors: WR-2005.
  absl::Status Start();

  // See ReplicationSource.
  // The stream is non-blocking: neither of these waits for the server.
  // Messages that the server had sent before it ended the stream, or before the connection broke,
  // are returned before the error.
  absl::StatusOr<bool> Receive(size_t max_bytes);
  // The room that libpq has made for a message of which only the beginning has arrived: more than
  // half of it is needed. 0 for one below a megabyte, if there was enough room already, and if the
  // allocator does not count.
  uint64_t message_room() const { return message_room_; }
  bool more_has_arrived() const { return more_has_arrived_; }
  std::span<const std::string_view> pending() const { return pending_.all(); }
  void Consume(size_t count) { pending_.Consume(count); }
  absl::Status Send(std::string_view message);
  absl::Status Flush();
  bool wants_write() const { return wants_write_; }
  absl::Status Finish(Micros timeout);

 private:
  static constexpr uint64_t kLargeMessage = uint64_t{1} << 20;

  // The result of one call of PQgetCopyData().
  enum class Taken { kMessage, kNothing, kEnd };

  // Moves one message from libpq's buffer to pending_.
  Taken TakeMessage();
  // Moves messages until `max_bytes` are pending or libpq has no complete one.
  Taken TakeBuffered(size_t max_bytes);
  // Decrypted bytes that poll() cannot see.
  bool TlsHasMore() const;
  absl::Status Lost() const;
  absl::Status OrderOfEnd();
  absl::Status EndOfStream();

  PgConnection& connection_;
  PendingMessages pending_;
  // libpq's output buffer is not empty.
  bool wants_write_ = false;
  uint64_t message_room_ = 0;
  bool more_has_arrived_ = true;  // possibly together with the response to START_REPLICATION
};

}  // namespace walrelay
