// `walrelay print`: what would be published, written to standard output. Kafka is not asked for.

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/record_printer.h"
#include "cli/rehearsal.h"

namespace walrelay {

ExitCode PrintCommand(const PrintFlags& flags) {
  ConfigFlags config_flags = flags.config;
  config_flags.needs.kafka = false;
  const auto loaded = LoadConfig(config_flags);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  if (flags.scope.follow) {
    fmt::print(stderr, "what is committed from now on; Ctrl-C ends it\n");
  }
  RecordPrinter printer(flags.json);
  const auto records = Rehearse(loaded->config, flags.scope, printer);
  if (!records.ok()) {
    return Report(records.status());
  }
  if (!flags.scope.ids.empty()) {
    fmt::print(stderr, "{} of {} rows found\n", *records, flags.scope.ids.size());
  }
  return ExitCode::kOk;
}

}  // namespace walrelay
