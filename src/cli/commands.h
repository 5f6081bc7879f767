// The commands, one function each, in a file of its own. Each returns how the process is to exit,
// and has told the user why by then: results on standard output, everything else on standard error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/config_flags.h"
#include "cli/rehearsal.h"
#include "walrelay/error.h"

namespace walrelay {

struct RunFlags {
  ConfigFlags config;
  // Print each acknowledged event on standard output: "", "text" or "json". Keys and headers, never
  // payloads.
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
  std::string fail_on = "problem";  // or "warning": what makes the exit code 3
  std::string write_probe;          // the topic that gets a record; "": none does
};
ExitCode DoctorCommand(const DoctorFlags& flags);

struct StatusFlags {
  ConfigFlags config;
  bool json = false;
  bool watch = false;  // again and again, until interrupted
  std::string probe;   // "live" or "ready": only the exit code matters; "": show all
};
ExitCode StatusCommand(const StatusFlags& flags);

struct ResumeFlags {
  ConfigFlags config;
  bool accept = false;
  std::string gap;  // the one that is accepted; "": the one that is shown
};
ExitCode ResumeCommand(const ResumeFlags& flags);

struct PrintFlags {
  ConfigFlags config;
  bool json = false;
  Scope scope;
};
ExitCode PrintCommand(const PrintFlags& flags);

struct VerifyFlags {
  ConfigFlags config;
  Scope scope{.limit = 1000};  // rows, or from now on; never from the slot's position
  int seconds = 60;            // how long rows are taken
  int timeout = 30;            // seconds, for the last record to be there
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

struct DemoFlags {
  std::string postgres;  // --postgres; "": a throw-away cluster
  std::string kafka;     // --kafka; "": brokers in this process
  std::string http;      // --http; "": a free port of this machine
  int seconds = 8;
  double rate = 10;  // transactions a second
  bool keep_running = false;
};
ExitCode DemoCommand(const DemoFlags& flags);

struct ConfigCommandFlags {
  ConfigFlags config;
};
ExitCode ConfigShowCommand(const ConfigCommandFlags& flags);
ExitCode ConfigDocsCommand();

struct ImportFlags {
  ConfigFlags config;  // what is said beside the file; no file of its own
  std::string file;    // "-": standard input
  std::string worker;  // the Connect worker's .properties; "": none
  std::string output;  // "": standard output, without secrets
  bool allow_lossy = false;
};
ExitCode ImportDebeziumCommand(const ImportFlags& flags);

struct ExplainFlags {
  std::string code;       // or a check of doctor
  bool markdown = false;  // the whole catalogue instead
  bool metrics = false;   // the reference of metrics instead
  bool checks = false;    // the reference of doctor's checks instead
};
ExitCode ExplainCommand(const ExplainFlags& flags);

ExitCode VersionCommand(bool json);

// Prints an error as people read it; returns its exit code.
ExitCode Report(const absl::Status& error);

}  // namespace walrelay
