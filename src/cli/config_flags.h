// The flags by which a command finds its configuration.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/flag_set.h"
#include "config/loader.h"

namespace walrelay {

// "" means that the flag was not given; an option cannot be set to "" by its shortcut, but by
// --set.
struct ConfigFlags {
  std::string file;              // --config
  std::string worker;            // --worker, for a connector's file
  std::vector<std::string> set;  // --set section.key=value
  std::string dsn;               // --dsn
  std::string kafka;             // --kafka
  std::string slot;              // --slot
  std::string publication;       // --publication
  std::string table;             // --table
  // Set by the command, not by a flag.
  ConfigNeeds needs;
  // The command changes something: it first prints to standard error which file it uses, and why.
  bool changes = false;
};

// Adds the flags above to a command.
void AddConfigFlags(FlagSet& set, ConfigFlags& flags);
// Adds the same flags except --config.
void AddSettingFlags(FlagSet& set, ConfigFlags& flags);
// Adds --config-dir. REQUIRES: the command has --config, which it excludes.
void AddConfigDirFlag(FlagSet& set, std::string& directory, const char* text);

// The file that a command reads.
struct FoundConfig {
  std::string path;      // "": none is named, and no default file exists
  const char* how = "";  // for the operator
  bool named = true;     // by the operator: a flag or a variable
};

// The options set by the flags, by name: shortcuts first. Errors: WR-5005.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> Overrides(
    const ConfigFlags& flags);

// Reads a configuration file of at most 1 MiB. Errors: WR-1004.
// May name a pipe or a device, such as /dev/stdin: it is read to its end, and blocks for as long.
// Larger than 1 MiB is WR-1004 too.
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

// The configuration file that LoadConfig() reads. It need not be readable, or trusted.
FoundConfig FindConfigFile(const ConfigFlags& flags);

// OK for a file that the operator named. The file of the current folder must have been written by
// root or the effective user (base/trusted_path.h), and the file of the system by root if root uses
// it. Errors: WR-1010, WR-1004.
absl::Status CheckIsTrusted(const FoundConfig& found);

// Prints to standard error which file a command uses, and why: in the first line of a command that
// changes something, so that an operator notices a file that was not meant.
void AnnounceConfig(const FoundConfig& found);

// The flags of a command that changes something, unless `changes` is false, as in a dry run.
ConfigFlags ForChange(ConfigFlags flags, bool changes = true);

// The text of the Connect worker's file, "" if the flag was not given. Errors: WR-1004.
absl::StatusOr<std::string> ReadWorkerFile(const ConfigFlags& flags);

// Finds and reads the file (flag, WALRELAY_CONFIG, ./walrelay.toml, /etc/walrelay/walrelay.toml,
// none) and adds environment and flags. Errors: WR-1001 to WR-1004, WR-1007, WR-1008, WR-1010,
// WR-5005. The first file that exists is used: one that exists and cannot be read is an error. The
// file may be a Debezium connector's (debezium/connector_config.h): --worker is for such a file
// only. REQUIRES: no other thread changes the environment.
absl::StatusOr<LoadedConfig> LoadConfig(const ConfigFlags& flags);

// LoadConfig() and CheckOffline() (preflight.h): all errors of both at once, for the commands that
// use the whole configuration.
absl::StatusOr<LoadedConfig> LoadCheckedConfig(const ConfigFlags& flags);

}  // namespace walrelay
