// The commands: one function and one source file each. Each returns the exit code of the process
// and has printed the reason: results to standard output, everything else to standard error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/config_flags.h"
#include "demo/demo.h"
#include "dryrun/dry_run.h"
#include "walrelay/error.h"

namespace walrelay {

// The flags of each command, as the command line gives them: names and formats are checked there,
// values that depend on the configuration by the command.
struct RunFlags {
  ConfigFlags config;
  // The format in which each acknowledged event is printed to standard output: "" (not printed),
  // "text" or "json". Keys and headers, never payloads.
  std::string events;
};
ExitCode RunCommand(const RunFlags& flags);

struct CheckFlags {
  ConfigFlags config;
  bool offline = false;
};
ExitCode CheckCommand(const CheckFlags& flags);

struct DoctorFlags {
  ConfigFlags config;
  bool json = false;
  std::string fail_on = "problem";  // or "warning": the minimum severity for exit code 3
  std::string write_probe;          // the topic to write a record to; "": none
};
ExitCode DoctorCommand(const DoctorFlags& flags);

struct StatusFlags {
  ConfigFlags config;
  bool json = false;
  bool watch = false;  // repeat until interrupted
  std::string probe;   // "live" or "ready": report by exit code; "": show the status
};
ExitCode StatusCommand(const StatusFlags& flags);

struct ResumeFlags {
  ConfigFlags config;
  bool accept = false;
  std::string gap;  // the gap to accept; "": the gap that is shown
};
ExitCode ResumeCommand(const ResumeFlags& flags);

struct PrintFlags {
  ConfigFlags config;
  bool json = false;
  DryRunScope scope;
};
ExitCode PrintCommand(const PrintFlags& flags);

struct VerifyFlags {
  ConfigFlags config;
  DryRunScope scope{.limit = 1000};  // given rows, or from now on; never from the slot's position
  int seconds = 60;                  // how long to collect events
  int timeout = 30;                  // how long to wait for the last record, seconds
};
ExitCode VerifyCommand(const VerifyFlags& flags);

struct SetupFlags {
  ConfigFlags config;
  bool apply = false;
  bool create_table = false;
  bool failover = false;
  std::string role;
};
ExitCode SetupCommand(const SetupFlags& flags);

ExitCode DemoCommand(const DemoOptions& options);

struct ConfigCommandFlags {
  ConfigFlags config;
};
ExitCode ConfigShowCommand(const ConfigCommandFlags& flags);
ExitCode ConfigDocsCommand();

struct ImportFlags {
  ConfigFlags config;  // settings that override the file; `file` is unused
  std::string file;    // "-": standard input
  std::string worker;  // the Connect worker's .properties; "": none
  std::string output;  // "": standard output, without secrets
  bool allow_lossy = false;
};
ExitCode ImportDebeziumCommand(const ImportFlags& flags);

struct ExplainFlags {
  std::string code;       // an error code, or a check of doctor
  bool markdown = false;  // print all error codes instead
  bool metrics = false;   // print the reference of the metrics instead
  bool checks = false;    // print the reference of doctor's checks instead
};
ExitCode ExplainCommand(const ExplainFlags& flags);

ExitCode VersionCommand(bool json);

// Prints an error to standard error; returns its exit code.
ExitCode Report(const absl::Status& error);

}  // namespace walrelay
