#include "walrelay/version.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/commit.h"
#include "kafka/client/conf.h"
#include "postgres/connection.h"

namespace walrelay {

ExitCode VersionCommand(bool json) {
  const int libpq = LibpqVersion();
  const std::string libpq_text = fmt::format("{}.{}", libpq / 10000, libpq % 10000);
  if (json) {
    fmt::print(R"({{"version":"{}","commit":"{}","compiler":"{}","libpq":"{}","librdkafka":"{}"}})"
               "\n",
               Version(), Commit(), Compiler(), libpq_text, LibrdkafkaVersion());
  } else {
    fmt::print("walrelay {}\n  commit     {}\n  built with {}\n  libpq      {}\n  librdkafka {}\n",
               Version(), Commit(), Compiler(), libpq_text, LibrdkafkaVersion());
  }
  return ExitCode::kOk;
}

}  // namespace walrelay
