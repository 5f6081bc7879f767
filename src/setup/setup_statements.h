// The statements that prepare a database for walrelay, one function for each object. The outbox
// table has a file of its own: new_table.h.
//
// Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "walrelay/config/outbox_table.h"

namespace walrelay {

struct PruneConfig;
struct SourceConfig;

// Precedes what another program is to execute: names are printed in UTF-8, whatever encoding the
// terminal and the database have.
inline constexpr std::string_view kSetEncoding = "SET client_encoding = 'UTF8';";

// The distinct schemas of the tables.
std::set<std::string> SchemasOf(const SourceConfig& source);

std::string CreateSchema(const std::string& schema);

// The operations that walrelay uses, as in the option `publish`.
std::string_view PublishedOperations(const SourceConfig& source);

// For all tables; without a table, for logical messages only.
std::string CreatePublication(const SourceConfig& source);

std::string AddToPublication(const SourceConfig& source, const OutboxTable& table);

// `failover`: Postgres 17+: a slot that is synchronized to standbys.
std::string CreateSlot(const SourceConfig& source, bool failover);

// Unless it exists: a role that may log in. In any case, it may use the schemas then;
// GrantReplication() (platform.h) makes it one that may stream.
std::string CreateRole(const SourceConfig& source, const std::string& role);

// Needed where CONNECT was revoked from PUBLIC.
std::string GrantConnect(const std::string& database, const std::string& role);
// The same for the database in which the script is executed.
std::string GrantConnectHere(const std::string& role);

// For counting rows (metrics.table_count_interval); publishing needs no privilege on a table.
std::string GrantSelect(const OutboxTable& table, const std::string& role);

// Whether the mode of pruning takes privileges that can be granted: to drop partitions, a role must
// own the table.
bool NeedsGrants(const PruneConfig& prune);

// "" if pruning is off, drops partitions, or has a login of its own.
std::string GrantPruning(const SourceConfig& source, const PruneConfig& prune,
                         const std::string& role);

// On platforms where the administrator may do so, and needs it for the slot.
constexpr std::string_view kGrantToItself = "ALTER ROLE CURRENT_USER REPLICATION;";

}  // namespace walrelay
