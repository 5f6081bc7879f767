// The session contract: the settings that every connection of walrelay has, whatever the role, the
// database, the server's configuration or a pooler say. The table is session_settings.def.
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

struct SessionSetting {
  // Which sessions a setting is for.
  enum class Scope : uint8_t { kAll, kReplication, kSql, kReader, kWriter };

  std::string_view name;
  std::string_view value;  // as it is requested
  std::string_view shown;  // as SHOW writes it
  int since = 13;          // first major that has it
  Scope scope = Scope::kAll;
  std::string_view reason;

  bool IsFor(ConnectionPurpose purpose) const;
};

std::span<const SessionSetting> SessionSettings();

// "-c name=value ..." of the settings that every supported major has: a name that a server does not
// know would end the connection.
std::string StartupSettings(ConnectionPurpose purpose);

// "SET name = 'value'" for each of the others that a server of `version` (150018) has. SET takes
// effect on a walsender as well, and reads no catalog of tables (decision 0007).
std::vector<std::string> LaterSettings(ConnectionPurpose purpose, int version);

// The same as select expressions, each with a comma in front, for a connection whose first question
// is all that it may wait for.
std::string LaterSettingColumns(ConnectionPurpose purpose, int version);

// Whether the session has the settings. `shown`: what SHOW answers for a name, nullopt where the
// server has no such setting. Errors: WR-2013 (SessionSetting), with name, expected and actual
// value.
absl::Status CheckSessionSettings(
    ConnectionPurpose purpose,
    const std::function<std::optional<std::string_view>(std::string_view)>& shown);

}  // namespace walrelay
