// `walrelay print`: prints the records that would be published. Needs no Kafka.

#include <fmt/format.h>

#include "cli/commands.h"
#include "dryrun/dry_run.h"
#include "dryrun/record_printer.h"

namespace walrelay {

ExitCode PrintCommand(const PrintFlags& flags) {
  ConfigFlags config_flags = flags.config;
  // Records are built but not sent: the brokers need not be configured.
  config_flags.needs.kafka = false;
  const auto loaded = LoadCheckedConfig(config_flags);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  // Messages go to standard error, so that standard output has records only.
  if (flags.scope.follow) {
    fmt::print(stderr, "waiting for events committed from now on; stop with Ctrl-C\n");
  }
  RecordPrinter printer(flags.json);
  const auto records = DryRun(loaded->config, flags.scope, printer);
  if (!records.ok()) {
    return Report(records.status());
  }
  // An id without a row is no error of the command, but the user must be able to see it.
  if (!flags.scope.ids.empty()) {
    fmt::print(stderr, "{} of {} rows found\n", *records, flags.scope.ids.size());
  }
  return ExitCode::kOk;
}

}  // namespace walrelay
