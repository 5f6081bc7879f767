// `walrelay run`: the daemon.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/log.h"
#include "base/system_clock.h"
#include "cli/commands.h"
#include "cli/commit.h"
#include "cli/config_directory.h"
#include "cli/event_printer.h"
#include "daemon/daemon.h"
#include "postgres/dsn.h"
#include "postgres/source_identity.h"
#include "sinks/registry.h"
#include "walrelay/config.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

struct RunFlags {
  ConfigFlags config;
  std::string config_dir;  // one pipeline per file of this directory; "": one pipeline
  // The format in which each acknowledged event is printed to standard output: "" (not printed),
  // "text" or "json". Keys and headers, never payloads.
  std::string events;
};

void Declare(FlagSet& set, RunFlags& flags) {
  AddConfigFlags(set, flags.config);
  AddConfigDirFlag(set, flags.config_dir,
                   "Run one pipeline per file of this directory (*.toml, *.json)");
  set.Add("--events", flags.events, "FORMAT",
          "Print each acknowledged event to standard output, without its payload")
      .OneOf({"text", "json"});
}

DeliveryObserver MakeObserver(const std::string& events, const Clock& clock) {
  if (events.empty()) {
    return {};
  }
  return
      [printer = EventPrinter(events == "json", clock)](
          const Delivery& delivery, WallTime commit_time) { printer.Print(delivery, commit_time); };
}

absl::StatusOr<ProcessSpec> Load(const RunFlags& flags) {
  return flags.config_dir.empty() ? LoadSinglePipeline(flags.config)
                                  : LoadConfigDirectory(flags.config_dir, flags.config);
}

// A fleet starts with the pipelines that are valid; there must be one.
absl::Status CheckOneIsValid(const ProcessSpec& spec) {
  absl::Status first;
  for (const PipelineSpec& pipeline : spec.pipelines) {
    if (pipeline.config.ok()) {
      return absl::OkStatus();
    }
    first = first.ok() ? pipeline.config.status() : first;
  }
  return first;
}

// One line per pipeline.
void LogStart(const ProcessSpec& spec) {
  for (const PipelineSpec& pipeline : spec.pipelines) {
    if (!pipeline.config.ok()) {
      continue;
    }
    const SourceConfig& source = pipeline.config->source;
    const LogScope scope(IdentityOf(source));
    const SinkLibrary library = MakeSinkFactory(*pipeline.config)->library();
    LogInfo("starting", fmt::format("walrelay is starting on slot {}", source.slot),
            {{"version", Version()},
             {"commit", Commit()},
             {"file", pipeline.file},
             {"postgres", DescribeDsn(source)},
             {"kafka", pipeline.config->kafka.bootstrap_servers},
             {library.name, library.version}});
    if (!pipeline.import_summary.empty()) {
      LogInfo("imported", pipeline.import_summary, {{"file", pipeline.file}});
    }
    for (const std::string& exposed : pipeline.exposed_secrets) {
      LogWarning("secret_exposed", exposed);
    }
  }
}

// `worker`: nullptr for a process without a parent.
ExitCode Run(const RunFlags& flags, SignalFd& signals, Worker* worker) {
  auto spec = Load(flags);
  if (!spec.ok()) {
    return Report(spec.status());
  }
  if (const absl::Status valid = CheckOneIsValid(*spec); !valid.ok()) {
    return Report(valid);
  }
  StartLogging(spec->log.level, spec->log.format);
  if (worker != nullptr && !worker->failures().unknown().empty()) {
    LogStatus(LogLevel::kError, "worker_failed",
              Error(ErrorCode::kWorkerFailed, worker->failures().unknown()));
  }
  LogStart(*spec);
  // Lines about the process name its pipeline, if there is only one.
  const bool fleet = !flags.config_dir.empty();
  std::optional<LogScope> scope;
  if (!fleet) {
    scope.emplace(IdentityOf(spec->pipelines.front().config->source));
  }
  const SystemClock clock;
  const DaemonOptions options{.load = [&flags] { return Load(flags); },
                              .config_path = ConfigPath(flags.config_dir, flags.config),
                              .fleet = fleet,
                              .observer = MakeObserver(flags.events, clock),
                              .worker = worker};
  const DaemonEnd end = RunDaemon(*std::move(spec), options, signals);
  const bool aborted = absl::IsAborted(end.status);
  if (!end.status.ok() && !aborted) {
    LogStatus(LogLevel::kError, "failed", end.status);
  }
  const ExitCode code = aborted ? ExitCode::kTemporary : ExitCodeFor(end.status);
  StopLogging();
  if (!end.clients_closed) {
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code));  // their threads use what exit() would destroy
  }
  return code;
}

// Signals are blocked before any thread starts: threads inherit the mask, so that only the main
// thread receives them.
absl::StatusOr<ExitCode> Execute(const RunFlags& flags) {
  if (flags.config_dir.empty()) {
    DaemonSignals signals;
    return Run(flags, signals, nullptr);
  }
  return RunInWorker([&flags](Worker& worker) { return Run(flags, worker.signals(), &worker); });
}

}  // namespace

// Runs until SIGTERM, SIGINT or, with a single pipeline, an error that ends the relay. With
// several, the invalid ones do not run; 78 if none is valid. 0 after a complete drain, 75 after a
// second signal, 4 for a gap with source.on_gap = "exit". Several run in a worker process, which is
// started again after an internal error; 70 if that does not help. If Kafka clients do not close
// within three seconds, the process ends without destructors.
Command RunCommand() {
  return MakeCommand<RunFlags>(
      "run",
      "Run the relay until it is stopped (SIGTERM drains; a second SIGTERM exits immediately)",
      Declare, Execute);
}

}  // namespace walrelay
