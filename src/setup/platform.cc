#include "setup/platform.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"

namespace walrelay {
namespace {

// Source: the services' documentation of logical replication, as of 2026.
constexpr Platform kPlatforms[] = {
    {.name = "",
     .marker = "",
     .administrator = "a superuser",
     .replication_role = "",
     .has_pg_hba = true,
     .settings =
         "The server needs wal_level = logical:\n"
         "  ALTER SYSTEM SET wal_level = 'logical'; then restart Postgres.\n"
         "Also set max_slot_wal_keep_size: it limits the WAL retained while the relay is stopped."},
    {.name = "rds",
     .marker = "rds_superuser",
     .administrator = "a member of rds_superuser, such as the master user",
     .replication_role = "rds_replication",
     .settings =
         "In the DB parameter group of the instance, with Aurora of the cluster (not a default\n"
         "group, which is read-only):\n"
         "  rds.logical_replication = 1, then reboot the instance: it sets wal_level = logical.\n"
         "  max_slot_wal_keep_size (in MB): it limits the WAL retained while the relay is "
         "stopped.\n"
         "  rds.iam_auth_for_replication = 1, only if walrelay logs in with IAM tokens."},
    {.name = "aurora",
     .marker = "rds_superuser",
     .administrator = "a member of rds_superuser, such as the master user",
     .replication_role = "rds_replication",
     .settings =
         "In the DB cluster parameter group (not a default group, which is read-only):\n"
         "  rds.logical_replication = 1, then reboot the writer: it sets wal_level = logical.\n"
         "  rds.iam_auth_for_replication = 1, only if walrelay logs in with IAM tokens.\n"
         "Set source.max_retained_wal in walrelay.toml: an alert reports a slot that retains "
         "more.\n"
         "Connect to the cluster endpoint, which follows the writer."},
    {.name = "cloud-sql",
     .marker = "cloudsqlsuperuser",
     .administrator = "a member of cloudsqlsuperuser, such as postgres",
     .replication_role = "",
     .administrator_grants_itself = true,
     .settings =
         "In the flags of the instance (setting flags replaces all others, so repeat those):\n"
         "  cloudsql.logical_decoding = on, which restarts the instance: wal_level = logical.\n"
         "Set source.max_retained_wal in walrelay.toml: an alert reports a slot that retains "
         "more."},
    {.name = "azure",
     .marker = "azure_pg_admin",
     .administrator = "a member of azure_pg_admin, such as the administrator of the server",
     .replication_role = "",
     .administrator_grants_itself = true,
     .settings =
         "In the server parameters of the flexible server:\n"
         "  wal_level = logical, then restart the server.\n"
         "Set source.max_retained_wal in walrelay.toml: an alert reports a slot that retains "
         "more."},
    {.name = "supabase",
     .marker = "supabase_admin",
     .administrator = "the role postgres",
     .replication_role = "",
     .settings = "wal_level is logical already. With the command line tool of the service:\n"
                 "  supabase postgres-config update --config max_slot_wal_keep_size=...: it limits "
                 "the WAL\n"
                 "  retained while the relay is stopped.\n"
                 "Connect to the database directly: the pooler does not support replication."},
};

}  // namespace

std::span<const Platform> Platforms() {
  return kPlatforms;
}

const Platform* PlatformNamed(std::string_view name) {
  const auto* found = std::find_if(std::begin(kPlatforms), std::end(kPlatforms),
                                   [&](const Platform& each) { return each.name == name; });
  return found == std::end(kPlatforms) ? nullptr : found;
}

std::string GrantReplication(const Platform& platform, std::string_view role) {
  return platform.replication_role.empty()
             ? fmt::format("ALTER ROLE {} REPLICATION;", QuoteIdentifier(role))
             : fmt::format("GRANT {} TO {};", platform.replication_role, QuoteIdentifier(role));
}

}  // namespace walrelay
