// Reads the facts needed to start a stream: about the server, the slot, the publication and the
// tables.
//
// Every query runs on a walsender (simple protocol, no parameters) as well as on an ordinary
// connection, needs no privilege beyond LOGIN REPLICATION, and handles the columns of each
// supported server version (Postgres 13 to 18).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pgoutput/relation_cache.h"
#include "postgres/connection.h"
#include "walrelay/config.h"
#include "walrelay/replication_source.h"

namespace walrelay {

// REQUIRES: a replication connection (IDENTIFY_SYSTEM, TIMELINE_HISTORY).
absl::StatusOr<ServerFacts> ReadServerFacts(PgConnection& connection, Micros timeout);

// Sets the fields of ServerFacts that IDENTIFY_SYSTEM and the connection provide. This does not
// fill the catalog caches of the server process. REQUIRES: a replication connection.
absl::Status ReadIdentity(PgConnection& connection, Micros timeout, ServerFacts& facts);

// Parses a timeline history file; other lines are ignored.
// Source: src/backend/access/transam/timeline.c, readTimeLineHistory.
std::vector<TimelineEnd> ParseTimelineHistory(std::string_view text);

absl::StatusOr<std::optional<SlotFacts>> ReadSlotFacts(PgConnection& connection,
                                                       std::string_view slot, Micros timeout);

absl::StatusOr<PublicationFacts> ReadPublicationFacts(PgConnection& connection,
                                                      std::string_view publication, Micros timeout);

// One entry per table, in the same order; oid 0 for a table that does not exist.
absl::StatusOr<std::vector<TableFacts>> ReadTableFacts(PgConnection& connection,
                                                       std::string_view publication,
                                                       const std::vector<OutboxTable>& tables,
                                                       Micros timeout);

// A table as the stream describes it: name and type of each column that is sent.
absl::StatusOr<pgoutput::CachedRelation> ReadRelation(PgConnection& connection,
                                                      const TableFacts& table, Micros timeout);

// Checks that the server supports the configured logical messages. Errors: WR-1003.
absl::Status CheckMessages(const SourceConfig& source, int server_version);

// A setting of the server; "" if the server does not have it.
absl::StatusOr<std::string> ReadSetting(PgConnection& connection, std::string_view name,
                                        Micros timeout);

}  // namespace walrelay
