#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/completion.h"

namespace walrelay {

ExitCode CompletionCommand(const CommandTree& tree, const std::string& shell) {
  const auto script = CompletionScript(tree, shell);
  if (!script) {
    return Report(Error(ErrorCode::kUsage, fmt::format("\"{}\" is not a known shell", shell)));
  }
  fmt::print("{}", *script);
  return ExitCode::kOk;
}

}  // namespace walrelay
