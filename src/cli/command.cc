#include "cli/command.h"

#include <fmt/format.h>

#include <cstdio>

namespace walrelay {

ExitCode Report(const absl::Status& error) {
  fmt::print(stderr, "walrelay: {}\n", Explain(error));
  return ExitCodeFor(error);
}

}  // namespace walrelay
