// Runs MaintainPartitions() once, for tests/integration/test_partitions.py, at any time and with
// any proof:
//
//   maintain_partitions DSN SCHEMA TABLE AHEAD KEEP_SECONDS NOW FROM FROM_TAKEN BEFORE TIMELINE
//   SLOT
//     WALSENDER
//
// Daily partitions; times are seconds since 1970. BEFORE 0: no proof.

#include <fmt/format.h>

#include <cstdlib>

#include "postgres/session.h"
#include "prune/outbox_partitions.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

int64_t Number(const char* text) {
  return std::strtoll(text, nullptr, 10);
}

WallTime Time(const char* text) {
  return WallTime(std::chrono::seconds(Number(text)));
}

absl::StatusOr<PartitionChanges> Maintain(char** arguments) {
  SourceConfig source;
  source.dsn = arguments[1];
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(source, ConnectionPurpose::kSetup));
  const PartitionPolicy policy{.period = PartitionPeriod::kDaily,
                               .ahead = static_cast<int>(Number(arguments[4])),
                               .keep = std::chrono::seconds(Number(arguments[5]))};
  std::optional<PruneProof> proven;
  if (const auto before = static_cast<uint64_t>(Number(arguments[9])); before != 0) {
    proven = {.xids = {.from = {.xid = static_cast<uint64_t>(Number(arguments[7])),
                                .taken = Time(arguments[8])},
                       .before = before},
              .timeline = static_cast<uint32_t>(Number(arguments[10])),
              .backend_pid = static_cast<int>(Number(arguments[12])),
              .server_started = WallTime(Micros(Number(arguments[13]))),
              .slot = arguments[11]};
  }
  return MaintainPartitions(connection, {.schema = arguments[2], .name = arguments[3]}, proven,
                            policy, PruneAction::kApply, Time(arguments[6]));
}

}  // namespace
}  // namespace walrelay

int main(int argc, char** argv) {
  if (argc != 14) {
    return EXIT_FAILURE;
  }
  const auto changes = walrelay::Maintain(argv);
  if (!changes.ok()) {
    fmt::print("{}\n", walrelay::Explain(changes.status()));
    return EXIT_FAILURE;
  }
  for (const std::string& name : changes->created) {
    fmt::print("created {}\n", name);
  }
  for (const std::string& name : changes->dropped) {
    fmt::print("dropped {}\n", name);
  }
  for (const auto& [name, reason] : changes->problems) {
    fmt::print("problem {}: {}\n", name, reason);
  }
  return EXIT_SUCCESS;
}
