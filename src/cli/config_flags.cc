#include "cli/config_flags.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/read_to_end.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/unique_fd.h"
#include "cli/preflight.h"
#include "config/masked_dsn.h"
#include "config/option.h"
#include "debezium/connector_config.h"
#include "debezium/debezium_file.h"
#include "walrelay/error.h"

extern char** environ;

namespace walrelay {
namespace {

// In bytes. A configuration has a few kilobytes; a wrong path must not fill the memory.
constexpr size_t kMaxBytes = 1 << 20;

constexpr const char* kFileOfFolder = "walrelay.toml";
constexpr const char* kFileOfSystem = "/etc/walrelay/walrelay.toml";

std::vector<std::pair<std::string, std::string>> Environment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    // execve() accepts entries without "=". They are not variables.
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

}  // namespace

void AddConfigFlags(FlagSet& set, ConfigFlags& flags) {
  set.Add("-c,--config", flags.file, "FILE",
          "Configuration file: walrelay.toml, or the configuration of a Debezium connector");
  AddSettingFlags(set, flags);
}

// The flags have no default values: "" means "not given", so that the file and the environment
// keep theirs.
void AddSettingFlags(FlagSet& set, ConfigFlags& flags) {
  set.Add("--worker", flags.worker, "FILE",
          "For a connector's file: the Connect worker's .properties, for its converters, brokers "
          "and producer");
  set.Add("--set", flags.set, "SECTION.KEY=VALUE", "Set one option (repeatable)");
  set.Add("--dsn", flags.dsn, "URI", "Postgres connection string (source.dsn)");
  set.Add("--kafka", flags.kafka, "HOSTS", "Kafka bootstrap servers (kafka.bootstrap_servers)");
  set.Add("--slot", flags.slot, "NAME", "Replication slot (source.slot)");
  set.Add("--publication", flags.publication, "NAME", "Publication (source.publication)");
  set.Add("--table", flags.table, "SCHEMA.TABLE", "Outbox table (source.table)");
}

void AddConfigDirFlag(FlagSet& set, std::string& directory, const char* text) {
  set.Add("--config-dir", directory, "DIR", text).Excludes("--config");
}

FoundConfig FindConfigFile(const ConfigFlags& flags) {
  if (!flags.file.empty()) {
    return {.path = flags.file, .how = "--config"};
  }
  // An empty variable counts as unset, so that a template can set it unconditionally.
  if (const char* variable = std::getenv("WALRELAY_CONFIG");
      variable != nullptr && *variable != '\0') {
    return {.path = variable, .how = "WALRELAY_CONFIG"};
  }
  // A file that exists but cannot be read is an error later, not a reason to use the next one. A
  // broken symbolic link exists, too.
  struct stat info {};
  for (const auto& [path, how] : {std::pair(kFileOfFolder, "in the current folder"),
                                  std::pair(kFileOfSystem, "the default")}) {
    if (::lstat(path, &info) == 0) {
      return {.path = path, .how = how, .named = false};
    }
  }
  return {};
}

absl::Status CheckIsTrusted(const FoundConfig& found) {
  // Only root decides who may write to the file of the system; another user who may do so must not
  // become root by it.
  const bool ours = found.path == kFileOfSystem && ::geteuid() != 0;
  return found.named || ours ? absl::OkStatus() : CheckTrustedPath(found.path);
}

void AnnounceConfig(const FoundConfig& found) {
  if (found.path.empty()) {
    fmt::print(stderr, "walrelay: no configuration file; using flags and variables\n");
    return;
  }
  std::error_code ignored;
  fmt::print(stderr, "walrelay: configuration {} ({})\n",
             Printable(std::filesystem::absolute(found.path, ignored).string()), found.how);
}

ConfigFlags ForChange(ConfigFlags flags, bool changes) {
  flags.changes = changes;
  return flags;
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::optional<std::string> content;
  if (file.valid()) {
    // Bounded: the path may name a device or a pipe.
    content = ReadToEnd(file.get(), kMaxBytes + 1);
  }
  if (!content) {
    return Error(ErrorCode::kConfigFile, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  // One byte more than the limit was requested, so that a file of exactly the limit is accepted.
  if (content->size() > kMaxBytes) {
    return Error(ErrorCode::kConfigFile, fmt::format("{}: larger than 1 MiB", path));
  }
  return *std::move(content);
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> Overrides(
    const ConfigFlags& flags) {
  std::vector<std::pair<std::string, std::string>> out;
  // Before the --set flags, because the last assignment of a name wins: --set source.dsn overrides
  // --dsn.
  const std::pair<const char*, const std::string&> shortcuts[] = {
      {"source.dsn", flags.dsn},
      {"kafka.bootstrap_servers", flags.kafka},
      {"source.slot", flags.slot},
      {"source.publication", flags.publication},
      {"source.table", flags.table}};
  for (const auto& [name, value] : shortcuts) {
    if (!value.empty()) {
      out.emplace_back(name, value);
    }
  }
  for (const std::string& assignment : flags.set) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      return Error(ErrorCode::kUsage,
                   fmt::format("--set {}: expected section.key=value", Printable(assignment, 80)));
    }
    // At the first "=": values such as a DSN contain further ones.
    out.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  return out;
}

absl::StatusOr<std::string> ReadWorkerFile(const ConfigFlags& flags) {
  return flags.worker.empty() ? std::string() : ReadTextFile(flags.worker);
}

namespace {

// The command line of a process is not secret: /proc/PID/cmdline, ps, the shell's history.
void WarnOfSecrets(const std::vector<std::pair<std::string, std::string>>& overrides) {
  for (const auto& [name, value] : overrides) {
    const bool dsn = name == "source.dsn" || name == "prune.dsn";
    const bool secret = name == "source.password" || name == "kafka.sasl_password" ||
                        name == "kafka.ssl_key_password" || name == "kafka.oauth.client_secret" ||
                        (name.starts_with(kPassThroughPrefix) &&
                         IsSecretProperty(name.substr(kPassThroughPrefix.size())));
    if (dsn ? MaskedDsn(value) != value : secret && !value.empty()) {
      fmt::print(
          stderr,
          "walrelay: warning: the command line contains a secret ({}), and every user of this "
          "host can read it. Use a file: password_file, --config.\n",
          name);
    }
  }
}

absl::StatusOr<ConfigInput> Input(const ConfigFlags& flags) {
  const FoundConfig found = FindConfigFile(flags);
  if (flags.changes) {
    AnnounceConfig(found);
  }
  WR_RETURN_IF_ERROR(CheckIsTrusted(found));
  ConfigInput input;
  input.file_name = found.path;
  if (!input.file_name.empty()) {
    WR_ASSIGN_OR_RETURN(input.file_text, ReadTextFile(input.file_name));
  }
  if (!flags.worker.empty() && !IsDebeziumFile(input.file_text)) {
    return Error(ErrorCode::kUsage,
                 fmt::format("--worker {}: the configuration file is not a connector's",
                             Printable(flags.worker, 120)),
                 "Name the connector's file with --config, or omit --worker.");
  }
  WR_ASSIGN_OR_RETURN(input.worker_text, ReadWorkerFile(flags));
  input.needs = flags.needs;
  input.environment = Environment();
  WR_ASSIGN_OR_RETURN(input.overrides, Overrides(flags));
  WarnOfSecrets(input.overrides);
  return input;
}

}  // namespace

absl::StatusOr<LoadedConfig> LoadConfig(const ConfigFlags& flags) {
  WR_ASSIGN_OR_RETURN(const ConfigInput input, Input(flags));
  return LoadConfigOrConnector(input);
}

absl::StatusOr<LoadedConfig> LoadCheckedConfig(const ConfigFlags& flags) {
  WR_ASSIGN_OR_RETURN(const ConfigInput input, Input(flags));
  WR_ASSIGN_OR_RETURN(LoadedConfig loaded, ReadConfigOrConnector(input));
  for (const OptionError& error : CheckOffline(loaded.config, flags.needs)) {
    loaded.Reject(error);
  }
  WR_RETURN_IF_ERROR(loaded.problems.ToStatus());
  return loaded;
}

}  // namespace walrelay
