#include "setup/setup_statements.h"

#include <fmt/format.h>

#include "base/quote.h"
#include "setup/new_table.h"
#include "walrelay/config/prune.h"
#include "walrelay/config/source.h"

namespace walrelay {
namespace {

std::string TableList(const SourceConfig& source) {
  std::string out;
  for (const OutboxTable& table : source.tables) {
    out += (out.empty() ? "" : ", ") + QuotedName(table);
  }
  return out;
}

// Only logical messages are events; the stream needs a publication nevertheless.
bool HasNoTable(const SourceConfig& source) {
  return source.tables.front().name.empty();
}

}  // namespace

std::set<std::string> SchemasOf(const SourceConfig& source) {
  std::set<std::string> schemas;
  for (const OutboxTable& table : source.tables) {
    if (!table.name.empty()) {
      schemas.insert(table.schema);
    }
  }
  return schemas;
}

std::string CreateSchema(const std::string& schema) {
  return fmt::format("CREATE SCHEMA IF NOT EXISTS {};", QuoteIdentifier(schema));
}

// An update blocks publishing only if it is sent.
std::string_view PublishedOperations(const SourceConfig& source) {
  return source.on_update == OnUpdate::kFail ? "insert, update" : "insert";
}

// publish_via_partition_root: rows of a partitioned table arrive under its name. It has no effect
// on other tables.
std::string CreatePublication(const SourceConfig& source) {
  return fmt::format(
      "CREATE PUBLICATION {}{} WITH (publish = '{}', "
      "publish_via_partition_root = true);",
      QuoteIdentifier(source.publication),
      HasNoTable(source) ? "" : " FOR TABLE " + TableList(source), PublishedOperations(source));
}

std::string AddToPublication(const SourceConfig& source, const OutboxTable& table) {
  return fmt::format("ALTER PUBLICATION {} ADD TABLE {};", QuoteIdentifier(source.publication),
                     QuotedName(table));
}

// The named arguments after the plugin differ between versions; failover exists from version 17 on.
std::string CreateSlot(const SourceConfig& source, bool failover) {
  return fmt::format("SELECT pg_catalog.pg_create_logical_replication_slot({}, 'pgoutput'{});",
                     QuoteLiteral(source.slot),
                     failover ? ", temporary => false, twophase => false, failover => true" : "");
}

// Read-only by default, as a second barrier: walrelay writes nothing to tables. The connection
// limit keeps a defect from using up the server's connections. A role belongs to all databases of a
// server: it may have been created for another one, and keeps its settings.
std::string CreateRole(const SourceConfig& source, const std::string& role) {
  const std::string name = QuoteIdentifier(role);
  const std::string literal = QuoteLiteral(role);
  std::string tag = "$role$";
  while (name.find(tag) != std::string::npos) {
    tag.insert(1, "_");
  }
  std::string sql = fmt::format(
      "DO {0} BEGIN\n"
      "  IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles\n"
      "                 WHERE rolname OPERATOR(pg_catalog.=) {1}) THEN\n"
      "    CREATE ROLE {2} LOGIN CONNECTION LIMIT 8;\n"
      "    ALTER ROLE {2} SET default_transaction_read_only = on;\n"
      "  END IF;\n"
      "END {0};",
      tag, literal, name);
  for (const std::string& schema : SchemasOf(source)) {
    sql += fmt::format("\nGRANT USAGE ON SCHEMA {} TO {};", QuoteIdentifier(schema), name);
  }
  return sql;
}

std::string GrantConnect(const std::string& database, const std::string& role) {
  return fmt::format("GRANT CONNECT ON DATABASE {} TO {};", QuoteIdentifier(database),
                     QuoteIdentifier(role));
}

std::string GrantConnectHere(const std::string& role) {
  // The name of the role must not end the quoted block.
  std::string quote = "$$";
  while (role.find(quote) != std::string::npos) {
    quote.insert(1, "x");
  }
  return fmt::format(
      "DO {0}BEGIN EXECUTE pg_catalog.format('GRANT CONNECT ON DATABASE %I TO %I', "
      "pg_catalog.current_database(), {1}); END{0};",
      quote, QuoteLiteral(role));
}

std::string GrantSelect(const OutboxTable& table, const std::string& role) {
  return fmt::format("GRANT SELECT ON {} TO {};", QuotedName(table), QuoteIdentifier(role));
}

bool NeedsGrants(const PruneConfig& prune) {
  return prune.mode == PruneMode::kDelete || prune.mode == PruneMode::kMark;
}

// SELECT, because the statements that prune compare columns.
std::string GrantPruning(const SourceConfig& source, const PruneConfig& prune,
                         const std::string& role) {
  std::string sql;
  if (!NeedsGrants(prune) || !prune.dsn.empty()) {
    return sql;
  }
  const std::string privilege =
      prune.mode == PruneMode::kDelete
          ? "DELETE"
          : fmt::format("UPDATE ({})", QuoteIdentifier(prune.mark_column));
  for (const OutboxTable& table : source.tables) {
    if (!table.name.empty()) {
      sql += fmt::format("{}GRANT SELECT, {} ON {} TO {};", sql.empty() ? "" : "\n", privilege,
                         QuotedName(table), QuoteIdentifier(role));
    }
  }
  return sql;
}

}  // namespace walrelay
