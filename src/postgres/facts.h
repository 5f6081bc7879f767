// Asks a server what the start of a stream is decided by: itself, the slot, publication and tables.
//
// Every query runs on a walsender (simple protocol, no parameters) as well as on an ordinary
// connection, needs no privilege beyond LOGIN REPLICATION, and takes the columns that the server's
// version has (Postgres 13 to 18).
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

// The part of them that IDENTIFY_SYSTEM and the connection itself tell, which leaves the server
// process' catalog caches as they are. REQUIRES: a replication connection.
absl::Status ReadIdentity(PgConnection& connection, Micros timeout, ServerFacts& facts);

// The contents of a timeline's history file; lines that are none are left out.
// Source: src/backend/access/transam/timeline.c, readTimeLineHistory.
std::vector<TimelineEnd> ParseTimelineHistory(std::string_view text);

absl::StatusOr<std::optional<SlotFacts>> ReadSlotFacts(PgConnection& connection,
                                                       std::string_view slot, Micros timeout);

absl::StatusOr<PublicationFacts> ReadPublicationFacts(PgConnection& connection,
                                                      std::string_view publication, Micros timeout);

// One for each of `tables`, in their order; oid 0 for a table that does not exist.
absl::StatusOr<std::vector<TableFacts>> ReadTableFacts(PgConnection& connection,
                                                       std::string_view publication,
                                                       const std::vector<OutboxTable>& tables,
                                                       Micros timeout);

// A table as the stream will describe it: name and type of each column that is sent.
absl::StatusOr<pgoutput::CachedRelation> ReadRelation(PgConnection& connection,
                                                      const TableFacts& table, Micros timeout);

// Whether the server can send the messages that are configured. Errors: WR-1003.
absl::Status CheckMessages(const SourceConfig& source, int server_version);

// Settings of the server by name; "" for one that it does not have.
absl::StatusOr<std::string> ReadSetting(PgConnection& connection, std::string_view name,
                                        Micros timeout);

}  // namespace walrelay
