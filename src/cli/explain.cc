// `walrelay explain`: explains an error code or a check of doctor, offline.

#include <fmt/format.h>

#include "base/error_reference.h"
#include "base/text.h"
#include "cli/commands.h"
#include "doctor/checks.h"
#include "metrics/reference.h"

namespace walrelay {

ExitCode ExplainCommand(const ExplainFlags& flags) {
  if (flags.markdown) {
    fmt::print("{}", ErrorReference());
    return ExitCode::kOk;
  }
  if (flags.metrics) {
    fmt::print("{}", MetricReference());
    return ExitCode::kOk;
  }
  if (flags.checks) {
    fmt::print("{}", CheckReference());
    return ExitCode::kOk;
  }
  if (const CheckEntry* check = FindCheck(flags.code)) {
    fmt::print("{}\n  what it checks: {}\n  why it matters: {}\n  what to do:     {}\n",
               check->name, check->examines, check->why, check->remedy);
    return ExitCode::kOk;
  }
  const auto code = FindErrorCode(flags.code);
  if (!code) {
    return Report(
        Error(ErrorCode::kUsage,
              fmt::format("\"{}\" is neither an error code nor a doctor check",
                          Printable(flags.code, 40)),
              "For example: walrelay explain WR-2101, walrelay explain slot.retained. --markdown "
              "lists all error codes, --checks lists all doctor checks."));
  }
  const ErrorEntry& entry = Describe(*code);
  fmt::print("{} {}\n  what it means: {}\n  what to do:    {}\n  reaction:      {}\n",
             ToString(entry.code), entry.title, entry.meaning, entry.remedy,
             DescribeReaction(entry.reaction));
  return ExitCode::kOk;
}

}  // namespace walrelay
