#include "postgres/session_settings.h"

#include <fmt/format.h>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using Scope = SessionSetting::Scope;

constexpr int kOldestMajor = 13;

constexpr SessionSetting kSettings[] = {
#define WALRELAY_SESSION_SETTING(name, value, shown, since, scope, reason) \
  {name, value, shown, since, Scope::scope, reason},
#include "postgres/session_settings.def"
#undef WALRELAY_SESSION_SETTING
};

// Startup options are split at spaces unless escaped by a backslash.
std::string Escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == ' ' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out;
}

// Since a major version that not every supported server has.
bool IsLater(const SessionSetting& setting, ConnectionPurpose purpose, int version) {
  return setting.since > kOldestMajor && version / 10000 >= setting.since && setting.IsFor(purpose);
}

}  // namespace

bool SessionSetting::IsFor(ConnectionPurpose purpose) const {
  switch (scope) {
    case Scope::kAll:
      return true;
    case Scope::kReplication:
      return purpose == ConnectionPurpose::kReplication;
    case Scope::kSql:
      return purpose != ConnectionPurpose::kReplication;
    case Scope::kReader:
      return purpose != ConnectionPurpose::kSetup;
    case Scope::kWriter:
      return purpose == ConnectionPurpose::kSetup;
  }
  return false;
}

std::span<const SessionSetting> SessionSettings() {
  return kSettings;
}

std::string StartupSettings(ConnectionPurpose purpose) {
  std::string options;
  for (const SessionSetting& setting : kSettings) {
    if (setting.since <= kOldestMajor && setting.IsFor(purpose)) {
      options += fmt::format("{}-c {}={}", options.empty() ? "" : " ", setting.name,
                             Escaped(setting.value));
    }
  }
  return options;
}

std::vector<std::string> LaterSettings(ConnectionPurpose purpose, int version) {
  std::vector<std::string> commands;
  for (const SessionSetting& setting : kSettings) {
    if (IsLater(setting, purpose, version)) {
      commands.push_back(fmt::format("SET {} = '{}'", setting.name, setting.value));
    }
  }
  return commands;
}

std::string LaterSettingColumns(ConnectionPurpose purpose, int version) {
  std::string columns;
  for (const SessionSetting& setting : kSettings) {
    if (IsLater(setting, purpose, version)) {
      columns +=
          fmt::format(", pg_catalog.set_config('{}', '{}', false)", setting.name, setting.value);
    }
  }
  return columns;
}

// A setting that the server does not have is not a violation: it has no effect to prevent.
absl::Status CheckSessionSettings(
    ConnectionPurpose purpose,
    const std::function<std::optional<std::string_view>(std::string_view)>& shown) {
  for (const SessionSetting& setting : kSettings) {
    const auto actual = shown(setting.name);
    if (setting.IsFor(purpose) && actual && *actual != setting.shown) {
      return Error(ErrorCode::kSessionSetting,
                   fmt::format("{}: expected \"{}\", got \"{}\"", setting.name, setting.shown,
                               Printable(*actual, 80)));
    }
  }
  return absl::OkStatus();
}

}  // namespace walrelay
