// The setting synchronous_standby_names. Pure.
#pragma once

#include <string_view>

namespace walrelay {

// Whether the setting's list has a standby of this application name: "*" names every one, upper and
// lower case are the same. Such a walsender may be one that commits wait for.
//
// Source: Postgres, src/backend/replication/syncrep.c, SyncRepGetStandbyPriority;
// syncrep_scanner.l.
bool NamesStandby(std::string_view setting, std::string_view application_name);

}  // namespace walrelay
