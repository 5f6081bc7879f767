// `walrelay doctor`: a full diagnosis.

#include <fmt/format.h>

#include "cli/checked_config.h"
#include "cli/commands.h"
#include "doctor/diagnosis.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

// `json`: nothing is printed before the diagnosis is complete.
struct DoctorFlags {
  ConfigFlags config;
  bool json = false;
  std::string fail_on = "problem";  // or "warning": the minimum severity for exit code 3
  std::string write_probe;          // the topic to write a record to; "": none
};

void Declare(FlagSet& set, DoctorFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--json", flags.json, "Print JSON (proto/walrelay/admin/v1/diagnosis.proto)");
  set.Add("--fail-on", flags.fail_on, "SEVERITY",
          "Minimum severity for exit code 3 (default: problem)")
      .OneOf({"warning", "problem"});
  set.Add("--write-probe", flags.write_probe, "TOPIC",
          "Also write one record to this topic: key walrelay-doctor, no value, a header "
          "walrelay.write_probe. The record is not removed");
}

absl::StatusOr<ExitCode> Execute(const DoctorFlags& flags) {
  // JSON is one document, so it is printed when all findings are known.
  Findings findings(flags.json ? std::function<void(const Finding&)>() : FindingPrinter());
  WR_ASSIGN_OR_RETURN(const Config config,
                      LoadChecked(ForChange(flags.config, !flags.write_probe.empty()), findings));
  Diagnose(config, {.depth = Depth::kAll, .write_probe = flags.write_probe}, findings);
  if (flags.json) {
    fmt::print("{}", FindingsJson(findings));
  }
  const Severity failing = flags.fail_on == "warning" ? Severity::kWarning : Severity::kProblem;
  return findings.worst() >= failing ? ExitCode::kProblemsFound : ExitCode::kOk;
}

}  // namespace

// 3 if the worst finding has at least the severity `fail_on`. Writes only with `write_probe`.
Command DoctorCommand() {
  return MakeCommand<DoctorFlags>(
      "doctor",
      "Diagnose a deployment: everything `check` does, plus settings, latency, WAL retained by the "
      "slot, brokers and topics, with a fix for each finding",
      Declare, Execute);
}

}  // namespace walrelay
