// `walrelay doctor`: a full diagnosis.

#include <fmt/format.h>

#include "cli/checked_config.h"
#include "cli/commands.h"
#include "doctor/diagnosis.h"

namespace walrelay {

ExitCode DoctorCommand(const DoctorFlags& flags) {
  // JSON is one document, so it is printed when all findings are known.
  Findings findings(flags.json ? std::function<void(const Finding&)>() : FindingPrinter());
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
