// CopyStream: the CopyBoth stream of a replication connection, over libpq.
//
// Only Finish() blocks. Not thread-safe. `connection` must outlive the stream.
//
// Source: Postgres documentation, "Asynchronous Command Processing" and "Functions Associated with
// the COPY Command".
#pragma once

#include <cstddef>
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
  bool more_has_arrived() const { return more_has_arrived_; }
  std::span<const std::string_view> pending() const { return pending_.all(); }
  void Consume(size_t count) { pending_.Consume(count); }
  absl::Status Send(std::string_view message);
  absl::Status Flush();
  bool wants_write() const { return wants_write_; }
  absl::Status Finish(Micros timeout);

 private:
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
  bool more_has_arrived_ = true;  // possibly together with the response to START_REPLICATION
};

}  // namespace walrelay
