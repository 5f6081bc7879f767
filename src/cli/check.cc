// `walrelay check`: whether the relay can start. `walrelay doctor`: a full diagnosis. Both run the
// same checks at different depths and print one line per finding, with a remedy for each problem.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/config_directory.h"
#include "doctor/config_checks.h"
#include "doctor/diagnosis.h"

namespace walrelay {
namespace {

// Prints each finding as soon as it is reported.
class Printer {
 public:
  void operator()(const Finding& finding) {
    fmt::print("{}", FindingText(finding, colour_));
    std::fflush(stdout);
  }

 private:
  // NO_COLOR as in no-color.org; here an empty value turns colours off too.
  bool colour_ = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
};

absl::StatusOr<Config> LoadChecked(const ConfigFlags& flags, Findings& findings) {
  // Before any connection: an invalid configuration is reported without touching a server, as `run`
  // does.
  WR_ASSIGN_OR_RETURN(LoadedConfig loaded, LoadCheckedConfig(flags));
  findings.Good("config.complete", "the configuration is complete and consistent");
  CheckSecretsAreKept(loaded, findings);
  if (!loaded.import_summary.empty()) {
    findings.Good("config.imported", loaded.import_summary);
  }
  return std::move(loaded.config);
}

// Warnings do not change the exit code: the relay would start with them.
ExitCode CheckPipeline(const ConfigFlags& flags, bool offline) {
  Findings findings{Printer()};
  const auto config = LoadChecked(flags, findings);
  if (!config.ok()) {
    return Report(config.status());
  }
  if (!offline) {
    Diagnose(*config, {.depth = Depth::kStart}, findings);
  }
  return findings.worst() == Severity::kProblem ? ExitCode::kProblemsFound : ExitCode::kOk;
}

// What concerns all files comes first: without it the process would not start.
ExitCode CheckDirectory(const CheckFlags& flags) {
  const auto spec = LoadConfigDirectory(flags.config_dir, flags.config);
  if (!spec.ok()) {
    return Report(spec.status());
  }
  ExitCode worst = ExitCode::kOk;
  for (const PipelineSpec& pipeline : spec->pipelines) {
    fmt::print("{}{}\n", &pipeline == &spec->pipelines.front() ? "" : "\n", pipeline.file);
    std::fflush(stdout);
    ConfigFlags one = flags.config;
    one.file = pipeline.file;
    const ExitCode code =
        pipeline.config.ok() ? CheckPipeline(one, flags.offline) : Report(pipeline.config.status());
    worst = std::max(worst, code);
  }
  return worst;
}

}  // namespace

ExitCode CheckCommand(const CheckFlags& flags) {
  return flags.config_dir.empty() ? CheckPipeline(flags.config, flags.offline)
                                  : CheckDirectory(flags);
}

ExitCode DoctorCommand(const DoctorFlags& flags) {
  // JSON is one document, so it is printed when all findings are known.
  Findings findings(flags.json ? std::function<void(const Finding&)>() : Printer());
  const auto config = LoadChecked(ForChange(flags.config, !flags.write_probe.empty()), findings);
  if (!config.ok()) {
    return Report(config.status());
  }
  Diagnose(*config, {.depth = Depth::kAll, .write_probe = flags.write_probe}, findings);
  if (flags.json) {
    fmt::print("{}", FindingsJson(findings));
  }
  const Severity failing = flags.fail_on == "warning" ? Severity::kWarning : Severity::kProblem;
  return findings.worst() >= failing ? ExitCode::kProblemsFound : ExitCode::kOk;
}

}  // namespace walrelay
