#include "walrelay/version.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/commit.h"
#include "postgres/connection.h"
#include "sinks/registry.h"

namespace walrelay {
namespace {

struct VersionFlags {
  bool json = false;
};

void Declare(FlagSet& set, VersionFlags& flags) {
  set.Add("--json", flags.json, "Print JSON");
}

absl::StatusOr<ExitCode> Execute(const VersionFlags& flags) {
  const int libpq = LibpqVersion();
  const std::string libpq_text = fmt::format("{}.{}", libpq / 10000, libpq % 10000);
  if (flags.json) {
    fmt::print(R"({{"version":"{}","commit":"{}","compiler":"{}","libpq":"{}")", Version(),
               Commit(), Compiler(), libpq_text);
  } else {
    fmt::print("walrelay {}\n  commit     {}\n  built with {}\n  libpq      {}\n", Version(),
               Commit(), Compiler(), libpq_text);
  }
  for (const SinkLibrary& library : SinkLibraries()) {
    if (flags.json) {
      fmt::print(R"(,"{}":"{}")", library.name, library.version);
    } else {
      fmt::print("  {:<10} {}\n", library.name, library.version);
    }
  }
  fmt::print("{}", flags.json ? "}\n" : "");
  return ExitCode::kOk;
}

}  // namespace

// The versions of libpq and of the sinks' libraries are those loaded at run time.
Command VersionCommand() {
  return MakeCommand<VersionFlags>("version", "Print the versions of walrelay and its libraries",
                                   Declare, Execute);
}

}  // namespace walrelay
