#include <fmt/format.h>

#include <iterator>

#include "cli/commands.h"
#include "cli/completion.h"

namespace walrelay {
namespace {

struct CompletionFlags {
  std::string shell;  // one of kShells
};

void Declare(FlagSet& set, CompletionFlags& flags) {
  set.Add("shell", flags.shell, "SHELL", "The shell")
      .Required()
      .OneOf({std::begin(kShells), std::end(kShells)});
}

absl::StatusOr<ExitCode> Execute(const CompletionFlags& flags, const AllCommands& all) {
  const auto script = CompletionScript(all.Tree(), flags.shell);
  if (!script) {
    return Error(ErrorCode::kUsage, fmt::format("\"{}\" is not a known shell", flags.shell));
  }
  fmt::print("{}", *script);
  return ExitCode::kOk;
}

}  // namespace

Command CompletionCommand() {
  return MakeCommand<CompletionFlags>("completion",
                                      "Print the script by which a shell completes commands and "
                                      "flags. For bash: source <(walrelay completion bash)",
                                      Declare, Execute);
}

}  // namespace walrelay
