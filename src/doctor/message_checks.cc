#include "doctor/message_checks.h"

#include <fmt/format.h>

#include <string>

#include "base/text.h"
#include "walrelay/config/route.h"
#include "walrelay/config/source.h"

namespace walrelay {
namespace {

// The function's signatures differ between major versions: 17 added an argument. Superusers may
// always execute it.
constexpr std::string_view kQuery = R"(
WITH emit AS (
  SELECT p.oid, pg_catalog.format('pg_catalog.pg_logical_emit_message(%s)',
                                  pg_catalog.oidvectortypes(p.proargtypes)) AS form
  FROM pg_catalog.pg_proc p
  WHERE p.proname OPERATOR(pg_catalog.=) 'pg_logical_emit_message'
    AND p.pronamespace OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace)
SELECT (SELECT pg_catalog.string_agg(form, ', ' ORDER BY form) FROM emit) AS forms,
       (SELECT coalesce(pg_catalog.bool_or(
          pg_catalog.has_function_privilege('public', oid, 'EXECUTE')), false) FROM emit) AS everyone,
       (SELECT pg_catalog.string_agg(pg_catalog.quote_ident(r.rolname), ', ' ORDER BY r.rolname)
        FROM pg_catalog.pg_roles r
        WHERE r.rolcanlogin AND NOT r.rolsuper AND EXISTS (
          SELECT 1 FROM emit
          WHERE pg_catalog.has_function_privilege(r.oid, emit.oid, 'EXECUTE'))) AS roles)";

}  // namespace

absl::Status CheckMessageWriters(PgConnection& connection, const SourceConfig& source,
                                 const RouteConfig& route, Findings& out) {
  // Without prefixes the relay does not read logical messages, so nothing depends on who may write
  // them.
  if (source.message_prefixes.empty()) {
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(const PgResult row,
                      connection.Query(std::string(kQuery), source.connect_timeout));
  // Limited: a server may have thousands of roles.
  const std::string roles =
      row.Get(0, "roles") ? Printable(row.Text(0, "roles"), 400) : "superusers only";
  // Postgres grants EXECUTE on functions to PUBLIC by default, this one included.
  if (!row.Bool(0, "everyone")) {
    out.Good("messages.writers",
             fmt::format("roles that can publish events as logical messages: {}", roles));
    return absl::OkStatus();
  }
  const std::string_view forms = row.Text(0, "forms");
  out.Warn("messages.writers",
           fmt::format("every role can publish events as logical messages (PUBLIC may execute "
                       "pg_logical_emit_message){}",
                       route.allow.empty() ? ", to any topic: route.allow is empty"
                                           : ", to the topics of route.allow"),
           fmt::format("In each database: REVOKE EXECUTE ON FUNCTION {0} FROM PUBLIC; then GRANT "
                       "EXECUTE ON FUNCTION {0} TO your_writer;",
                       forms));
  return absl::OkStatus();
}

}  // namespace walrelay
