// The session contract: the settings of every connection of walrelay, independent of the role, the
// database, the server's configuration and poolers. The table is session_settings.def.
//
// Pure: text in, text out. session.h applies it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "postgres/connection_parameters.h"

namespace walrelay {

// One row of session_settings.def.
struct SessionSetting {
  // The sessions that have the setting.
  // kReader: connections that only read. kWriter: setup, which changes the database.
  enum class Scope : uint8_t { kAll, kReplication, kSql, kReader, kWriter };

  std::string_view name;
  std::string_view value;  // as requested
  std::string_view shown;  // as printed by SHOW
  int since = 13;          // first major version with the setting
  Scope scope = Scope::kAll;
  std::string_view reason;

  bool IsFor(ConnectionPurpose purpose) const;
};

// All rows of the table, in its order.
std::span<const SessionSetting> SessionSettings();

// "-c name=value ..." for the settings that every supported major version has. A server rejects a
// connection with an unknown setting.
std::string StartupSettings(ConnectionPurpose purpose);

// "SET name = 'value'" for each other setting that a server of `version` (150018) has. SET also
// works on a walsender and reads no table catalogs (decision 0007).
std::vector<std::string> LaterSettings(ConnectionPurpose purpose, int version);

// The same as select expressions, each preceded by a comma, for a connection that must apply them
// in its first query.
std::string LaterSettingColumns(ConnectionPurpose purpose, int version);

// Checks that the session has the settings. `shown`: returns the output of SHOW for a name, nullopt
// if the server has no such setting. Errors: WR-2013 (SessionSetting), with name, expected and
// actual value.
absl::Status CheckSessionSettings(
    ConnectionPurpose purpose,
    const std::function<std::optional<std::string_view>(std::string_view)>& shown);

}  // namespace walrelay
