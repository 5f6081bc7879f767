// TemporarySlot: reads the messages that a slot would send, without advancing the slot.
//
// It reads and advances a temporary slot: a copy that begins at the slot's position, or a new slot
// that begins now. The temporary slot is dropped with the connection. The slot itself is only read,
// and may be in use. Needs the privileges for reading the slot (REPLICATION) and a free replication
// slot on the server. While it exists it retains WAL like the slot, and the server decodes the WAL
// once more.
//
// Why not pg_logical_slot_peek_binary_changes: docs/decisions/0010. Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "walrelay/config/source.h"

namespace walrelay {

class TemporarySlot {
 public:
  // From the slot's position. `connection` is an ordinary connection. Errors: those of the server,
  // by code (WR-2101: the slot does not exist).
  // Takes the connection, also after an error. `source` need not outlive the call.
  static absl::StatusOr<TemporarySlot> OfSlot(PgConnection connection, const SourceConfig& source);
  // Events committed from now on; waits for open transactions to end.
  // The wait is that of Postgres for a consistent point: until the transactions that are open now
  // have ended.
  static absl::StatusOr<TemporarySlot> FromNow(PgConnection connection, const SourceConfig& source);

  // The next messages of pgoutput, as in XLogData: whole transactions, about `max_messages`
  // messages. Empty: there are no more messages up to the current end of the WAL.
  // `max_messages` bounds the memory of one call, except for a transaction that is larger.
  absl::StatusOr<std::vector<std::string>> Next(size_t max_messages);
  // The Type and Relation messages among those that Next() would return. The others are not sent to
  // this process. The server stops after `limit`, with an error of its own.
  absl::StatusOr<std::vector<std::string>> NextDescriptions(size_t max_messages, Micros limit);

 private:
  TemporarySlot(PgConnection connection, const SourceConfig& source)
      : connection_(std::move(connection)),
        publication_(source.publication),
        messages_(!source.message_prefixes.empty()) {}

  // `function` creates the temporary slot; its name and arguments are quoted already.
  static absl::StatusOr<TemporarySlot> Create(PgConnection connection, const SourceConfig& source,
                                              const std::string& function);

  absl::StatusOr<std::vector<std::string>> Read(size_t max_messages, std::string_view where,
                                                Micros limit);

  PgConnection connection_;
  std::string publication_;
  bool messages_ = false;  // logical messages are events, too
};

}  // namespace walrelay
