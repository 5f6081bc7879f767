// `walrelay print`: prints the records that would be published. Needs no Kafka.

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "dryrun/dry_run.h"
#include "dryrun/record_printer.h"

namespace walrelay {
namespace {

struct PrintFlags {
  ConfigFlags config;
  bool json = false;
  DryRunScope scope;
};

void Declare(FlagSet& set, PrintFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--json", flags.json, "Print one JSON object per line, with untruncated values");
  set.Add("--follow", flags.scope.follow, "Print events committed from now on, until interrupted");
  set.Add("--id", flags.scope.ids, "ID",
          "Print the row with this id, as it is in the table now (repeatable)")
      .Excludes("--follow");
  set.Add("--limit", flags.scope.limit, "N", "Stop after this many records");
}

absl::StatusOr<ExitCode> Execute(const PrintFlags& flags) {
  ConfigFlags config_flags = flags.config;
  // Records are built but not sent: the brokers need not be configured.
  config_flags.needs.kafka = false;
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadCheckedConfig(config_flags));
  // Messages go to standard error, so that standard output has records only.
  if (flags.scope.follow) {
    fmt::print(stderr, "waiting for events committed from now on; stop with Ctrl-C\n");
  }
  RecordPrinter printer(flags.json);
  WR_ASSIGN_OR_RETURN(const uint64_t records, DryRun(loaded.config, flags.scope, printer));
  // An id without a row is not an error of the command, but the user must be able to see it.
  if (!flags.scope.ids.empty()) {
    fmt::print(stderr, "{} of {} rows found\n", records, flags.scope.ids.size());
  }
  return ExitCode::kOk;
}

}  // namespace

// Needs no Kafka address. Does not advance the slot. A row that was not found is not an error: the
// number of such rows is printed to standard error.
Command PrintCommand() {
  return MakeCommand<PrintFlags>(
      "print",
      "Print what would be published: from the slot's position to the end of the WAL, from now on, "
      "or for given rows. Does not advance the slot, and does not connect to Kafka",
      Declare, Execute);
}

}  // namespace walrelay
