#include "demo/demo.h"

#include "cli/commands.h"

namespace walrelay {
namespace {

void Declare(FlagSet& set, DemoOptions& options) {
  set.Add("--postgres", options.postgres, "DSN",
          "Use this Postgres server instead (wal_level = logical)");
  set.Add("--kafka", options.kafka, "HOSTS", "Use these Kafka brokers instead");
  set.Add("--http", options.http, "ADDRESS:PORT", "Listen address of the relay's HTTP server");
  set.Add("--seconds", options.seconds, "INT",
          "How long orders are written, in seconds (default: 8)")
      .Between(2, 3600);
  set.Add("--rate", options.rate, "FLOAT", "Transactions per second (default: 10)")
      .Between(0.1, 1000.0);
  set.Add("--keep-running", options.keep_running,
          "Keep running until Ctrl-C, to inspect it with kcat and curl");
}

absl::StatusOr<ExitCode> Execute(const DemoOptions& options) {
  WR_RETURN_IF_ERROR(RunDemo(options));
  return ExitCode::kOk;
}

}  // namespace

Command DemoCommand() {
  return MakeCommand<DemoOptions>(
      "demo", "Run a demonstration: temporary Postgres, in-process brokers, a relay that is killed",
      Declare, Execute);
}

}  // namespace walrelay
