// `walrelay explain`: an error code's meaning and remedy, without a connection or the web.

#include <fmt/format.h>

#include "base/error_reference.h"
#include "base/text.h"
#include "cli/commands.h"
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
  const auto code = FindErrorCode(flags.code);
  if (!code) {
    return Report(Error(ErrorCode::kUsage,
                        fmt::format("\"{}\" is not a code", Printable(flags.code, 40)),
                        "walrelay explain WR-2101; docs/errors.md lists them all."));
  }
  const ErrorEntry& entry = Describe(*code);
  fmt::print("{} {}\n  what it means: {}\n  what to do:    {}\n  the relay:     {}\n",
             ToString(entry.code), entry.title, entry.meaning, entry.remedy,
             DescribeReaction(entry.reaction));
  return ExitCode::kOk;
}

}  // namespace walrelay
