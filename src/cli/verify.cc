// `walrelay verify`: compares the records in the topics with the records that walrelay would have
// published. The publisher may be Debezium before a migration, or this relay.

#include <fmt/format.h>

#include "base/system_clock.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "dryrun/comparison.h"
#include "dryrun/dry_run.h"
#include "dryrun/record_collector.h"
#include "sinks/registry.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

struct VerifyFlags {
  ConfigFlags config;
  DryRunScope scope{.limit = 1000};  // given rows, or from now on; never from the slot's position
  int seconds = 60;                  // how long to collect events
  int timeout = 30;                  // how long to wait for the last record, seconds
};

void Declare(FlagSet& set, VerifyFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--id", flags.scope.ids, "ID",
          "Compare the row with this id, as it is in the table now (repeatable)");
  set.Add("--limit", flags.scope.limit, "N", "Stop after this many events")
      .Between(1, 1'000'000);  // all expected records are in memory
  set.Add("--seconds", flags.seconds, "INT", "How long to collect events, in seconds (default: 60)")
      .Between(1, 86'400);
  set.Add("--timeout", flags.timeout, "INT",
          "Seconds to wait until all records are in the topics (default: 30)")
      .Between(0, 3600);
}

using std::chrono::seconds;

// Clocks differ, and the timestamp of a record may be earlier than its commit.
constexpr std::chrono::minutes kBefore{10};

absl::StatusOr<size_t> Verify(const Config& config, const VerifyFlags& flags) {
  const SystemClock clock;
  const WallTime started = clock.WallNow();
  const MonoTime stop_condition = clock.Now() + seconds(flags.seconds);
  DryRunScope scope = flags.scope;
  // Never from the slot's position: a relay that reads the slot moves it while this runs.
  scope.follow = scope.ids.empty();
  scope.stop_condition = [&] { return clock.Now() >= stop_condition; };
  RecordCollector collector;
  // Collects the records first and reads the topics afterwards: the publisher needs time for the
  // last of them.
  WR_ASSIGN_OR_RETURN(const uint64_t count, DryRun(config, scope, collector));
  if (!scope.follow && config.route.timestamp != TimestampSource::kColumn) {
    for (ExpectedRecord& record : collector.records()) {
      record.timestamp.reset();  // the commit time of the event's row version is unknown
    }
  }
  const auto sinks = MakeSinkFactory(config);
  Comparison comparison(*sinks, std::move(collector.records()),
                        scope.follow ? std::optional(started - kBefore) : std::nullopt,
                        scope.follow ? "" : config.route.commit_time_header);
  WR_RETURN_IF_ERROR(comparison.Find(seconds(flags.timeout)));
  const size_t different = comparison.PrintDifferences();
  fmt::print("{} event{} compared, {} different\n", count, count == 1 ? "" : "s", different);
  return different;
}

absl::StatusOr<ExitCode> Execute(const VerifyFlags& flags) {
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadCheckedConfig(flags.config));
  WR_ASSIGN_OR_RETURN(const size_t different, Verify(loaded.config, flags));
  return different == 0 ? ExitCode::kOk : ExitCode::kProblemsFound;
}

}  // namespace

// 0 if all records are equal, 3 if at least one differs or is missing. Blocks for `seconds` plus
// `timeout` and the time that Kafka takes. Timestamps are not compared for given rows, whose commit
// time is unknown, unless a column determines them.
Command VerifyCommand() {
  return MakeCommand<VerifyFlags>(
      "verify",
      "Compare the records in the topics with the records walrelay would have published, for "
      "events committed from now on or for given rows",
      Declare, Execute);
}

}  // namespace walrelay
