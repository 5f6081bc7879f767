// `walrelay check`: whether the relay can start.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/checked_config.h"
#include "cli/commands.h"
#include "cli/config_directory.h"
#include "doctor/diagnosis.h"

namespace walrelay {
namespace {

// `offline`: neither Postgres nor Kafka is contacted.
struct CheckFlags {
  ConfigFlags config;
  std::string config_dir;  // check each file of this directory; "": one configuration
  bool offline = false;
};

void Declare(FlagSet& set, CheckFlags& flags) {
  AddConfigFlags(set, flags.config);
  AddConfigDirFlag(set, flags.config_dir, "Check every pipeline of this directory");
  set.Add("--offline", flags.offline,
          "Check only the configuration; do not connect to Postgres or Kafka");
}

// Warnings do not change the exit code: the relay would start with them.
ExitCode CheckPipeline(const ConfigFlags& flags, bool offline) {
  Findings findings{FindingPrinter()};
  const auto config = LoadChecked(flags, findings);
  if (!config.ok()) {
    return Report(config.status());
  }
  if (!offline) {
    Diagnose(*config, {.depth = Depth::kStart}, findings);
  }
  return findings.worst() == Severity::kProblem ? ExitCode::kProblemsFound : ExitCode::kOk;
}

// Errors of the directory as a whole come first: without it the process would not start.
absl::StatusOr<ExitCode> CheckDirectory(const CheckFlags& flags) {
  WR_ASSIGN_OR_RETURN(const ProcessSpec spec, LoadConfigDirectory(flags.config_dir, flags.config));
  ExitCode worst = ExitCode::kOk;
  for (const PipelineSpec& pipeline : spec.pipelines) {
    fmt::print("{}{}\n", &pipeline == &spec.pipelines.front() ? "" : "\n", pipeline.file);
    std::fflush(stdout);
    ConfigFlags one = flags.config;
    one.file = pipeline.file;
    const ExitCode code =
        pipeline.config.ok() ? CheckPipeline(one, flags.offline) : Report(pipeline.config.status());
    worst = std::max(worst, code);
  }
  return worst;
}

absl::StatusOr<ExitCode> Execute(const CheckFlags& flags) {
  return flags.config_dir.empty() ? CheckPipeline(flags.config, flags.offline)
                                  : CheckDirectory(flags);
}

}  // namespace

// 0 if `run` would start, warnings included; 3 if a check found a problem; 78 for an invalid
// configuration.
Command CheckCommand() {
  return MakeCommand<CheckFlags>(
      "check", "Check that the relay can start: configuration, Postgres, slot, tables, Kafka",
      Declare, Execute);
}

}  // namespace walrelay
