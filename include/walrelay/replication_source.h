// ReplicationSource: the seam to Postgres.
//
// One connection at a time, in three steps: Open() connects and returns the state of the server,
// the slot and the publication; the caller decides whether and where to start (a source decides
// nothing); Start() begins streaming. Then Receive() reads arrived data, and SendStatus() confirms.
// Any error ends the connection; Close() is allowed at any time and makes the source ready for
// Open().
//
// Threads: all calls from one thread. Calls up to Start() may block, each for less than half a
// minute regardless of the number of hosts and queries, and return early with kCancelled when the
// process received a request to stop. Finish() blocks for at most `timeout`. Nothing else blocks.
//
// Source: Postgres documentation, "Streaming Replication Protocol" and "Logical Streaming
// Replication Protocol"; src/backend/replication/walsender.c for what the documentation leaves
// open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/lsn.h"
#include "walrelay/publication_identity.h"
#include "walrelay/slot_info.h"

namespace walrelay {

// The end of a timeline, where the next one branched off.
struct TimelineEnd {
  uint32_t timeline = 0;
  Lsn end;
};

// The result of IDENTIFY_SYSTEM, and the session settings that affect a client.
// `system_id` identifies the cluster across restarts and failovers; `timeline` changes with a
// promotion.
struct ServerInfo {
  std::string system_id;
  uint32_t timeline = 0;
  // TIMELINE_HISTORY: the ancestors of this timeline. Empty on timeline 1, and if the server has no
  // history file.
  std::vector<TimelineEnd> ancestors;
  Lsn wal_end;  // end of the flushed WAL at the time of the query
  std::string database;
  uint32_t database_oid = 0;
  int version = 0;  // server_version_num: 150018
  bool in_recovery = false;
  WallTime now;                  // clock_timestamp()
  WallTime started;              // pg_postmaster_start_time()
  uint64_t next_xid = 0;         // pg_snapshot_xmax(), with its epoch; 0: unknown
  int backend_pid = 0;           // of this connection's server process
  WallTime backend_started;      // of that process: another one may have the same pid later
  Micros wal_sender_timeout{0};  // 0: the server never disconnects a silent client
  bool by_network = false;       // connected by TCP, not by a Unix socket
};

// Properties of a column that are in the catalog but not in the stream.
struct ColumnInfo {
  std::string name;
  bool not_null = false;
  std::string default_expression;        // as printed by pg_get_expr(); "": none
  std::vector<std::string> enum_labels;  // in enum order; empty: not an enum
  // pg_type.typname; of a domain, that of its base type. "": an array or an enum.
  std::string type_name;
  bool is_domain = false;
  int32_t domain_modifier = -1;  // the type modifier that the innermost domain declares
  uint32_t type_oid = 0;         // of a domain over a built-in type: that type
  int32_t type_modifier = -1;
  bool sent = true;  // false: a generated column, or one outside of the column list
};

// One outbox table, as currently defined on the server.
// The catalog at the time of Open(); rows in the WAL may be older than this definition.
struct TableInfo {
  std::string schema;
  std::string name;
  uint32_t oid = 0;          // 0: no such table
  bool published = false;    // a member of the publication, itself or by its schema
  bool row_filter = false;   // the publication hides rows
  bool column_list = false;  // the publication hides columns
  bool unlogged = false;     // never decoded
  bool partitioned = false;
  std::string sent_as;  // rows are sent under this name; "": under its own, or not at all
  std::vector<TableLeaf> leaves;
  std::vector<ColumnInfo> columns;  // known columns; others may be NULL
};

// All false if it does not exist. via_partition_root: rows of a partition are sent under the name
// of the root.
struct PublicationInfo {
  bool exists = false;
  bool publishes_insert = false;
  bool publishes_more = false;  // update, delete or truncate
  bool via_partition_root = false;
};

// Read on one connection, but in several queries, each with its own snapshot: see PublicationState.
struct SourceInfo {
  ServerInfo server;
  std::optional<SlotInfo> slot;  // nullopt: no slot of that name
  // The server process of `walrelay recover`, which replaces the slot at present; 0: none. Read
  // only without a usable slot.
  int recovery_pid = 0;
  PublicationInfo publication;
  std::vector<TableInfo> tables;  // in configured order
  PublicationState publication_state;
};

// Standby status update: the position up to which the client has received data, and the position up
// to which it has stored data safely. Positions are sent unchanged: Postgres may discard everything
// up to `flushed`.
// REQUIRES: `flushed` comes from AckTracker only. 0/0 confirms nothing. `now` is by the client's
// clock.
struct StandbyStatus {
  Lsn received;
  Lsn flushed;
  WallTime now;
  bool reply_requested = false;
};

class ReplicationSource {
 public:
  virtual ~ReplicationSource() = default;

  // Closes an open connection first. Errors: WR-20xx, WR-1003 and WR-1005 of connecting,
  // kCancelled; a missing slot, table or publication is part of the result, not an error.
  virtual absl::StatusOr<SourceInfo> Open() = 0;

  // Sets wal_sender_timeout of sessions from the next Open() on; 0: the configured value.
  virtual void SetSenderTimeout(Micros timeout) = 0;

  // Reads the slot again, on a connection that does not stream yet. nullopt: the slot does not
  // exist.
  virtual absl::StatusOr<std::optional<SlotInfo>> InspectSlot() = 0;

  // Terminates a server process of the same role: walrelay's own broken connection, if the server
  // has not detected the failure yet. On a connection that does not stream yet.
  virtual absl::Status TerminateBackend(int pid) = 0;

  // Creates the slot, on a connection that does not stream yet. The slot starts at the current end
  // of the WAL.
  virtual absl::Status CreateSlot() = 0;

  // Drops the slot, on a connection that does not stream yet. WR-2102, without waiting and without
  // dropping the slot, if another process has acquired it in the meantime.
  virtual absl::Status DropSlot() = 0;

  // Starts streaming at `position`, or at the slot's confirmed position if `position` is 0/0 or
  // behind it. Returns the position that the slot had confirmed when this connection acquired it:
  // from then on no other process can move or drop it. nullopt if the server does not tell.
  // Errors: WR-2102 if another process holds the slot, WR-21xx for a slot that cannot be used.
  // After an error the source must be closed.
  virtual absl::StatusOr<std::optional<Lsn>> Start(Lsn position) = 0;

  // Moves arrived data to pending(), until `max_bytes` are pending. Returns an error (including the
  // end of the stream by the server) only after all arrived data was read. Returns true if any data
  // arrived, even without a complete message: the server is alive. Errors: also WR-2403 for a
  // message that cannot fit into the memory of this process.
  virtual absl::StatusOr<bool> Receive(size_t max_bytes) = 0;

  // The most that a large message may have of which only a part has arrived; 0: none arrives. A row
  // is one message. After a large message, one that is not larger may remain unseen.
  virtual uint64_t incoming_bytes() const { return 0; }

  // Whether the last Receive() stopped at `max_bytes`. Then poll_fd() may not signal what is left:
  // the client library has already read it from the socket.
  virtual bool more_has_arrived() const { return false; }

  // Messages received and not yet consumed, oldest first: each is the content of one CopyData. The
  // views are valid until Consume() or Close().
  virtual std::span<const std::string_view> pending() const = 0;

  // Drops the first `count` of pending().
  virtual void Consume(size_t count) = 0;

  // Queues a status update and sends as much as the socket accepts. Flush() sends the rest: call it
  // when wants_write() and the socket is writable.
  virtual absl::Status SendStatus(const StandbyStatus& status) = 0;
  // WR-2005 if the connection is lost.
  virtual absl::Status Flush() = 0;

  // Ends streaming gracefully, which guarantees that the server has read the last status: sends
  // CopyDone, then reads and discards everything up to the server's CopyDone, for at most
  // `timeout`.
  virtual absl::Status Finish(Micros timeout) = 0;

  // Invalidates all views of pending(). Without Finish() the server may not have read the last
  // status.
  virtual void Close() = 0;

  // The connection's socket, -1 if closed; and whether unsent output waits until it is writable.
  virtual int poll_fd() const = 0;
  virtual bool wants_write() const = 0;
};

}  // namespace walrelay
