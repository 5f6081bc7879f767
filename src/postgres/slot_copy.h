// SlotCopy: reads what a slot would send, and leaves the slot where it is.
//
// Read and moved is a temporary slot of its own: a copy that begins where the slot stands, or a new
// one that begins now. It ends with the connection. The slot itself is only looked at, and may be
// in use meanwhile. Needs what reading the slot needs (REPLICATION), and a free replication slot on
// the server; while it lasts it holds back log as the slot does, and the log is decoded once more.
//
// Why not pg_logical_slot_peek_binary_changes: docs/decisions/0010. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "walrelay/config.h"

namespace walrelay {

class SlotCopy {
 public:
  // From where the slot stands. `connection` is an ordinary one. Errors: those of the server, by
  // code (WR-2101: there is no such slot).
  static absl::StatusOr<SlotCopy> OfSlot(PgConnection connection, const SourceConfig& source);
  // Of what is committed from now on; waits for transactions that are open.
  static absl::StatusOr<SlotCopy> FromNow(PgConnection connection, const SourceConfig& source);

  // The next messages of pgoutput, as they stand in XLogData: whole transactions, about
  // `max_messages` of them. None: there is nothing for the publication up to the log's present end.
  absl::StatusOr<std::vector<std::string>> Next(size_t max_messages);

  // For queries between the calls.
  PgConnection& connection() { return connection_; }

 private:
  SlotCopy(PgConnection connection, const SourceConfig& source)
      : connection_(std::move(connection)),
        publication_(source.publication),
        messages_(!source.message_prefixes.empty()) {}

  static absl::StatusOr<SlotCopy> Create(PgConnection connection, const SourceConfig& source,
                                         const std::string& function);

  PgConnection connection_;
  std::string publication_;
  bool messages_ = false;  // logical messages are events, too
};

}  // namespace walrelay
