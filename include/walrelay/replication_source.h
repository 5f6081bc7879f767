// ReplicationSource: the seam to Postgres.
//
// One connection at a time, in three steps: Open() connects and reports what the server, the slot
// and the publication look like; the caller decides whether and where to start (a source decides
// nothing); Start() begins streaming. Then Receive() takes what has arrived, and SendStatus()
// confirms. Any error ends the connection; Close() is allowed at any time and makes the source
// ready for Open().
//
// Threads: all calls from one thread. Those up to Start() may block, each for less than half a
// minute however many hosts and queries it takes, and return early with kCancelled when the process
// was asked to stop. Finish() blocks for its patience. Nothing else blocks.
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

namespace walrelay {

// Where a timeline ended: the next one forked off there.
struct TimelineEnd {
  uint32_t timeline = 0;
  Lsn end;
};

// IDENTIFY_SYSTEM, and the settings of the session that matter to a client.
struct ServerFacts {
  std::string system_id;
  uint32_t timeline = 0;
  // TIMELINE_HISTORY: those that this one descends from. Empty on timeline 1, and where the server
  // has no history file.
  std::vector<TimelineEnd> ancestors;
  Lsn wal_end;  // end of the flushed log when asked
  std::string database;
  int version = 0;  // as server_version_num: 150018
  bool in_recovery = false;
  int backend_pid = 0;           // of this connection's server process
  Micros wal_sender_timeout{0};  // 0: the server never gives up on a silent client
  bool by_network = false;       // connected by TCP, and not by a Unix socket
};

// A row of pg_replication_slots. Columns that the server's version does not have keep their
// default.
struct SlotFacts {
  std::string plugin;
  std::string database;
  bool logical = true;
  bool temporary = false;
  bool active = false;
  int active_pid = 0;
  Lsn restart;
  Lsn confirmed_flush;
  std::string wal_status;           // reserved, extended, unreserved, lost; PG 13+
  std::string invalidation_reason;  // PG 17+
  bool synced = false;              // PG 17+: kept in step by a primary
};

// What the catalog says of a column and the stream does not.
struct ColumnFacts {
  std::string name;
  bool not_null = false;
  std::string default_expression;        // as pg_get_expr() prints it; "": none
  std::vector<std::string> enum_labels;  // in their order; empty: no enum
};

// One outbox table as the server has it now.
struct TableFacts {
  std::string schema;
  std::string name;
  uint32_t oid = 0;          // 0: no such table
  bool published = false;    // a member of the publication, itself or by its schema
  bool row_filter = false;   // the publication hides rows
  bool column_list = false;  // the publication hides columns
  bool unlogged = false;     // never decoded
  bool partitioned = false;
  std::vector<ColumnFacts> columns;  // those that are known; the others may be NULL
};

struct PublicationFacts {
  bool exists = false;
  bool publishes_insert = false;
  bool publishes_more = false;  // update, delete or truncate
  bool via_partition_root = false;
};

struct SourceFacts {
  ServerFacts server;
  std::optional<SlotFacts> slot;  // nullopt: no slot of that name
  PublicationFacts publication;
  std::vector<TableFacts> tables;  // as configured, in that order
  PublicationLook publication_look;
};

// Standby status update: what the client has received, and what it has made safe elsewhere.
// Positions are sent as they are: flush is what Postgres may forget.
struct StandbyStatus {
  Lsn received;
  Lsn flushed;
  WallTime now;
  bool reply_requested = false;
};

class ReplicationSource {
 public:
  virtual ~ReplicationSource() = default;

  virtual absl::StatusOr<SourceFacts> Open() = 0;

  // wal_sender_timeout of the sessions from the next Open() on; 0: the configured one.
  virtual void SetSenderTimeout(Micros timeout) = 0;

  // Looks at the slot again, on a connection that does not stream yet. nullopt: it is gone.
  virtual absl::StatusOr<std::optional<SlotFacts>> InspectSlot() = 0;

  // Ends a server process of our own role: a connection of ours that broke and that the server has
  // not noticed yet. On a connection that does not stream yet.
  virtual absl::Status TerminateBackend(int pid) = 0;

  // Makes the slot, on a connection that does not stream yet. It begins at the present end of the
  // log.
  virtual absl::Status CreateSlot() = 0;

  // Drops the slot, on a connection that does not stream yet. WR-2102, and the slot stays, when
  // anybody has taken it meanwhile: it is not waited for.
  virtual absl::Status DropSlot() = 0;

  // Starts streaming at `position`, or where the slot stands when that is 0/0 or behind it.
  virtual absl::Status Start(Lsn position) = 0;

  // Takes what has arrived into pending(), until `max_bytes` are pending there. An error (also: the
  // server ended the stream) comes only when nothing is left to take.
  // True when anything came at all, also if no message is complete yet: the server is alive.
  virtual absl::StatusOr<bool> Receive(size_t max_bytes) = 0;

  // Whether the last Receive() left behind what poll_fd() does not show as readable: bytes that the
  // client library has read from the socket already.
  virtual bool more_has_arrived() const { return false; }

  // Messages taken and not yet consumed, oldest first: each the content of one CopyData. The views
  // live until Consume() or Close().
  virtual std::span<const std::string_view> pending() const = 0;

  // Drops the first `count` of pending().
  virtual void Consume(size_t count) = 0;

  // Queues a status update and sends as much as the socket takes. What it did not take is sent by
  // Flush(), which is called when wants_write() and the socket has become writable.
  virtual absl::Status SendStatus(const StandbyStatus& status) = 0;
  virtual absl::Status Flush() = 0;

  // Ends streaming in good order, so that the last status is known to have been read: CopyDone,
  // then everything up to the server's CopyDone is read and dropped, for `patience` at most.
  virtual absl::Status Finish(Micros patience) = 0;

  virtual void Close() = 0;

  // The connection's socket, -1 when closed; and whether output waits for it to become writable.
  virtual int poll_fd() const = 0;
  virtual bool wants_write() const = 0;
};

}  // namespace walrelay
