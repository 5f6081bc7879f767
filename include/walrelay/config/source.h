// [source]: the database, the slot, and what is read from it.
// Filled and validated by src/config; docs/configuration.md describes each key.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "walrelay/clock.h"
#include "walrelay/config/outbox_table.h"
#include "walrelay/secret.h"

namespace walrelay {

// Handling of an UPDATE of an outbox row: its event may be published already.
// kIgnore: counted, and skipped. kFail: publishing is blocked (WR-3008).
enum class OnUpdate : uint8_t { kIgnore, kFail };

// Handling of transactions that another node wrote first, and that replication applied here.
// kUnset: as kAny; doctor warns where replication writes to an outbox table.
enum class OriginFilter : uint8_t { kUnset, kAny, kNone };

// Handling of a placement whose column does not exist in the table.
// kFail: the table's next row blocks publishing (WR-3001). kIgnore: the placement is omitted.
enum class MissingColumns : uint8_t { kFail, kIgnore };

// Handling of a slot that retains as much WAL as the operator allows.
// kDropSlot requires max_retained_wal > 0 and excludes create_slot; events that were not published
// by then are a gap (WR-2109).
enum class OnRetainedLimit : uint8_t { kAlert, kDropSlot };

// Handling of a possible gap: hold publishing until an operator accepts the gap, or exit with
// code 4.
enum class OnGap : uint8_t { kHold, kExit };

// The database, the slot, and what is read from it.
// A password from a file takes precedence over `password`; these and a command's over the one in
// the DSN. Strings contain no zero bytes.
struct SourceConfig {
  std::string dsn;  // a libpq connection string or URI
  // 1 to 128 letters, digits, ".", "_", "-", ":" and "/"; "": IdentityOf() derives it from the DSN.
  std::string name;
  Secret password;
  std::string password_file;  // read again at each connection
  // Program and arguments; prints the password of one connection. Excludes the two above. Empty:
  // none.
  std::vector<std::string> password_command;
  // Valid: 1 to 63 lower-case letters, digits and underscores, which replication commands accept
  // without quotes.
  std::string slot = "walrelay";
  // 1 to 63 bytes without backslashes and control characters; always quoted in commands.
  std::string publication = "walrelay";
  // At least one. A single table without a name means no table: all events are logical messages.
  std::vector<OutboxTable> tables = {OutboxTable()};
  // Prefixes of logical messages that are events, mapped like the first table; globs. Empty: none.
  std::vector<std::string> message_prefixes;
  OriginFilter origin = OriginFilter::kUnset;
  OnUpdate on_update = OnUpdate::kIgnore;
  MissingColumns missing_columns = MissingColumns::kFail;
  bool create_slot = false;
  int64_t max_retained_wal = 0;  // bytes; 0: only the server's limit applies
  OnRetainedLimit on_retained_limit = OnRetainedLimit::kAlert;
  OnGap on_gap = OnGap::kHold;
  int64_t decoding_memory = 0;  // bytes: logical_decoding_work_mem; 0: the server's setting
  bool wait_visible = false;    // publish a transaction only after other sessions can see it
  // pgoutput's option "binary" (Postgres 14 and later): values arrive as TupleValue::Kind::kBinary.
  bool binary = false;
  bool allow_insecure = false;
  // The limit of one attempt to connect to one host; at least one second. kOpenTimeout
  // (postgres/session.h) limits all attempts together.
  Micros connect_timeout = std::chrono::seconds(10);
  Micros wal_sender_timeout = std::chrono::seconds(30);  // 0: the server's setting

  bool operator==(const SourceConfig&) const = default;
};

}  // namespace walrelay
