// The setting synchronous_standby_names. Pure.
#pragma once

#include <string_view>

namespace walrelay {

// Whether the setting's list contains this application name, or "*"; case does not matter. Commits
// may wait for a walsender with such a name.
//
// Source: Postgres, src/backend/replication/syncrep.c, SyncRepGetStandbyPriority;
// syncrep_scanner.l.
bool NamesStandby(std::string_view setting, std::string_view application_name);

}  // namespace walrelay
