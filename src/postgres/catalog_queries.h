// Reads what is needed to start a stream: about the server, the slot and the publication. About the
// tables: outbox_tables.h.
//
// Every query runs on a walsender (simple protocol, no parameters) as well as on an ordinary
// connection, needs no privilege beyond LOGIN REPLICATION, and handles the columns of each
// supported server version (Postgres 13 to 18).
//
// Not thread-safe on one connection. Each query blocks for at most `timeout`. Names are quoted
// here. Errors are those of PgConnection::Query().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "postgres/row_query.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct SourceConfig;

// REQUIRES: a replication connection (IDENTIFY_SYSTEM, TIMELINE_HISTORY).
// WR-2009 if the server answers without a row, as a pooler may. The ancestors are empty if the
// history file does not exist.
absl::StatusOr<ServerInfo> ReadServerInfo(PgConnection& connection, Micros timeout);

// Sets the fields of ServerInfo that IDENTIFY_SYSTEM and the connection provide. This does not
// fill the catalog caches of the server process. REQUIRES: a replication connection.
absl::Status ReadIdentity(PgConnection& connection, Micros timeout, ServerInfo& info);

// The identifier that IDENTIFY_SYSTEM returns, on an ordinary connection. "" if the role may not
// read it, as on a server whose administrator has revoked it.
absl::StatusOr<std::string> ReadSystemId(PgConnection& connection, Micros timeout);

// Parses a timeline history file; other lines are ignored.
// Source: src/backend/access/transam/timeline.c, readTimeLineHistory.
// Pure. In the order of the file, the oldest timeline first.
std::vector<TimelineEnd> ParseTimelineHistory(std::string_view text);

// The query for the slot's row of pg_replication_slots, `s`, which SlotInfoOf() reads. `columns`
// and `joins` are inserted as they are: ", a.b" and " JOIN a ON ...".
std::string SlotQuery(std::string_view slot, int server_version, std::string_view columns = "",
                      std::string_view joins = "");

// Columns that the server's version does not have read as NULL. REQUIRES: the result has a row.
SlotInfo SlotInfoOf(const PgResult& row);

// nullopt: no slot of that name, of any type and in any database.
absl::StatusOr<std::optional<SlotInfo>> ReadSlotInfo(PgConnection& connection,
                                                     std::string_view slot, Micros timeout);

// A missing publication is a result (`exists` is false), not an error.
absl::StatusOr<PublicationInfo> ReadPublicationInfo(PgConnection& connection,
                                                    std::string_view publication, Micros timeout);

// The partitions of a table that were attached, or created as partitions, by a transaction with
// the xid `since` or a greater one. A partition below another one counts with the later of both.
// `next_xid`: that of RowSource.
absl::StatusOr<std::vector<AttachedPartition>> ReadAttached(PgConnection& connection, uint32_t oid,
                                                            uint64_t since, uint64_t next_xid,
                                                            Micros timeout);

// Checks that the server supports the configured logical messages. Errors: WR-1003.
absl::Status CheckMessages(const SourceConfig& source, int server_version);

// A setting of the server; "" if the server does not have it.
// As SHOW prints it, with its unit ("10s").
absl::StatusOr<std::string> ReadSetting(PgConnection& connection, std::string_view name,
                                        Micros timeout);

}  // namespace walrelay
