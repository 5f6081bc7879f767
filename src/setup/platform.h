// Platforms: where a Postgres server runs, and what differs there for `walrelay setup`.
//
// A managed service has no superuser: settings are changed in its console, and another role gives
// the replication privilege.
//
// Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace walrelay {

// All views are of literals.
struct Platform {
  std::string_view name;  // of --platform; "": a server of the operator's own
  // A role that only this platform has; "": none. RDS and Aurora cannot be told apart by it.
  std::string_view marker;
  // Who may execute the statements that need the replication privilege, for messages.
  std::string_view administrator;
  // The role whose members may use replication; "": the attribute REPLICATION is needed.
  std::string_view replication_role;
  // Whether the administrator lacks REPLICATION at first, and may give it to itself.
  bool administrator_grants_itself = false;
  // Whether the operator edits pg_hba.conf.
  bool has_pg_hba = false;
  // Lines for a comment: which settings to change, and how.
  std::string_view settings;
};

// Every platform; the first one is the server of the operator's own.
std::span<const Platform> Platforms();

// nullptr for an unknown name. The pointer is valid for the life of the process.
const Platform* PlatformNamed(std::string_view name);

// The statement that gives `role` the replication privilege.
std::string GrantReplication(const Platform& platform, std::string_view role);

}  // namespace walrelay
