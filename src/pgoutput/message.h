// The messages of pgoutput, protocol version 1.
//
// Structs of views: strings and tuples point into the decoded bytes and into the decoder's scratch
// space, and are valid until its next Decode().
//
// Source: Postgres documentation, "Logical Replication Message Formats"; the writing side is
// src/backend/replication/logical/proto.c.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "walrelay/clock.h"
#include "walrelay/lsn.h"

namespace walrelay::pgoutput {

// Values are the bytes on the wire.
enum class MessageType : char {
  kBegin = 'B',
  kCommit = 'C',
  kOrigin = 'O',
  kRelation = 'R',
  kType = 'Y',
  kInsert = 'I',
  kUpdate = 'U',
  kDelete = 'D',
  kTruncate = 'T',
  kMessage = 'M',
  kStreamAbort = 'A',
};

// Announces a transaction, which Postgres sends only after its commit. Contains no end of the
// commit record, so nothing can be confirmed yet.
// `final_lsn` identifies the transaction across sessions (walrelay/position.h). `xid` is 32 bits,
// without the epoch: not unique for the life of a cluster.
struct Begin {
  // Identifies the transaction across sessions: Position (walrelay/position.h).
  Lsn final_lsn;  // start of the commit record: equals the COMMIT's commit_lsn
  WallTime commit_time;
  uint32_t xid = 0;
};

// REQUIRES of a consumer: end_lsn is confirmed only after every event of the transaction was
// acknowledged. The times are by the server's clock.
struct Commit {
  Lsn commit_lsn;  // start of the commit record: never confirmed
  Lsn end_lsn;     // first byte after it: the only position that this transaction may confirm
  WallTime commit_time;
};

// The replication origin of a transaction that has one.
// `lsn` is a position on the origin server: it has no meaning on this one. On Postgres 13 both are
// absent if the transaction's own snapshot does not show the origin.
struct Origin {
  Lsn lsn;
  std::string_view name;
};

// As the server describes it in a Relation message.
// A Relation lists them in attribute order, without dropped columns, and without those that a
// column list does not publish. `type_modifier` is pg_attribute.atttypmod; -1: none.
struct Column {
  std::string_view name;
  uint32_t type_oid = 0;
  // pg_attribute.atttypmod: length, precision and scale; -1: none.
  int32_t type_modifier = -1;
  bool part_of_key = false;
};

// Sent before the first row of a table in a session, and after each change of the table.
struct Relation {
  uint32_t oid = 0;
  std::string_view schema;
  std::string_view name;
  // pg_class.relreplident: 'd' default, 'n' nothing, 'f' full, 'i' index.
  char replica_identity = 'd';
  std::span<const Column> columns;
};

// Sent for types that are not built in, before the Relation that uses them.
// A domain has the name and the schema of its base type: see RelationCache.
struct Type {
  uint32_t oid = 0;
  std::string_view schema;
  std::string_view name;
};

// One column of a row.
struct TupleValue {
  // Values are the bytes on the wire.
  // kUnchangedToast: a large value that an UPDATE did not change; it is not in the WAL. kBinary:
  // with the option "binary".
  enum class Kind : char { kNull = 'n', kUnchangedToast = 'u', kText = 't', kBinary = 'b' };

  Kind kind = Kind::kNull;
  // Text is in the server's client_encoding, without a terminating zero byte; may be empty, which
  // differs from NULL.
  std::string_view bytes;  // of kText and kBinary

  bool is_null() const { return kind == Kind::kNull; }
};

// One value per column, in the order of the relation's columns.
using Tuple = std::span<const TupleValue>;

struct Insert {
  uint32_t relation_oid = 0;
  Tuple row;
};

struct Update {
  uint32_t relation_oid = 0;
  std::optional<Tuple> old_row;  // the key or the whole row, depending on the replica identity
  Tuple row;                     // the only tuple that may contain kUnchangedToast
};

// Only the columns of the replica identity have values; the others are NULL.
struct Delete {
  uint32_t relation_oid = 0;
  Tuple old_row;
};

// One record for all tables of a TRUNCATE.
// `relation_oids` contains published tables only.
struct Truncate {
  std::span<const uint32_t> relation_oids;
  bool cascade = false;
  bool restart_identity = false;
};

// pg_logical_emit_message(). A non-transactional message arrives outside of transactions, even when
// the transaction around the call rolls back.
// `prefix` and `content` come from any role that may execute the function; content is bytes, not
// necessarily text. Requires the option "messages" (Postgres 14).
struct LogicalMessage {
  bool transactional = false;
  Lsn lsn;  // end of the record
  std::string_view prefix;
  std::string_view content;
};

// A transaction rolled back. Nothing of it was sent, so there is nothing to undo: Postgres 18 sends
// this message although streaming was not requested, for each subtransaction of a rolled-back
// transaction that exceeded logical_decoding_work_mem, whatever tables it wrote to. It arrives
// between transactions: it is triggered by the abort record, not by a commit.
//
// Source: src/backend/replication/logical/reorderbuffer.c, ReorderBufferCheckAndTruncateAbortedTXN
// and ReorderBufferAbort. Postgres 13 to 17 truncate a transaction only when they stream it, or
// when the slot has two_phase.
struct StreamAbort {
  uint32_t xid = 0;     // of the top-level transaction
  uint32_t subxid = 0;  // the transaction that rolled back; equals xid for the whole transaction
};

// A variant and not a class hierarchy: a message lives on the stack, and std::visit reports a
// missing case at compile time.
using Message = std::variant<Begin, Commit, Origin, Relation, Type, Insert, Update, Delete,
                             Truncate, LogicalMessage, StreamAbort>;

}  // namespace walrelay::pgoutput
