#include "setup/setup_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "setup/new_table.h"
#include "setup/setup_statements.h"
#include "walrelay/config/source.h"

namespace walrelay {
namespace {

// `lines`, each as a comment.
std::string Comment(std::string_view lines) {
  std::string out;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    out += fmt::format("-- {}\n", lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out;
}

}  // namespace

std::string SetupScript(const SourceConfig& source, const SetupOptions& options) {
  const std::string role = options.role.empty() ? "walrelay" : options.role;
  const Platform& platform = options.platform != nullptr ? *options.platform : Platforms().front();
  std::string out = fmt::format(
      "-- walrelay setup: run once, in this order, in the database, as {}.\n{}\n{}\n\n"
      "-- 1. The outbox table, unless it exists. Other column names are possible: see "
      "[source.columns] in\n--    docs/configuration.md.\n",
      platform.administrator, Comment(platform.settings), kSetEncoding);
  for (const std::string& schema : SchemasOf(source)) {
    out += schema == "public" ? "" : CreateSchema(schema) + "\n";
  }
  for (const OutboxTable& table : source.tables) {
    out += table.name.empty()
               ? "-- No table: events are logical messages.\n"
               : CreateTable(table, options.partitions, options.max_record_bytes) + "\n";
  }
  out += fmt::format(
      "\n-- 2. The publication, before the slot. No deletes, so that deleting old rows stays "
      "cheap.\n{}\n",
      CreatePublication(source));
  out += fmt::format(
      "\n-- 3. The slot. From now on Postgres retains the WAL of events not yet published.\n{}{}\n",
      platform.administrator_grants_itself ? fmt::format("{}\n", kGrantToItself) : "",
      CreateSlot(source, options.failover));
  std::string grants;
  for (const OutboxTable& table : source.tables) {
    grants += table.name.empty() ? "" : GrantSelect(table, role) + "\n";
  }
  out += fmt::format(
      "\n-- 4. A role for walrelay. Like every role with REPLICATION, it can read everything on "
      "the "
      "server:\n"
      "--    all databases, and the password hashes of all roles (BASE_BACKUP). It can create and "
      "drop slots.\n"
      "--    Postgres cannot restrict that: protect its password, and let it log in from the "
      "relay's "
      "host only.\n"
      "--    SELECT is for counting rows: publishing needs no privilege on any table. Set its "
      "password:\n"
      "--    \\password {}\n"
      "{}\n{}\n{}{}\n",
      Printable(role), CreateRole(source, role), GrantConnectHere(role), grants,
      GrantReplication(platform, role));
  if (platform.has_pg_hba) {
    out += fmt::format("--    pg_hba.conf: hostssl DATABASE {} ADDRESS scram-sha-256\n",
                       Printable(role));
  }
  if (const std::string sql = GrantPruning(source, options.prune, role); !sql.empty()) {
    out += fmt::format("\n-- 5. The privileges for [prune].\n{}\n", sql);
  }
  return out;
}

}  // namespace walrelay
