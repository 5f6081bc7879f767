#include "demo/demo.h"

#include "cli/commands.h"

namespace walrelay {

ExitCode DemoCommand(const DemoOptions& options) {
  const absl::Status status = RunDemo(options);
  return status.ok() ? ExitCode::kOk : Report(status);
}

}  // namespace walrelay
