#include "daemon/daemon.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <utility>

#include "admin/control_socket.h"
#include "admin/pages.h"
#include "base/check.h"
#include "base/log.h"
#include "base/system_clock.h"
#include "daemon/pipeline_thread.h"
#include "daemon/reload_queue.h"
#include "daemon/supervisor.h"
#include "http/http_server.h"
#include "runner/wal_runner.h"
#include "status/status_notifier.h"
#include "walrelay/config/http.h"
#include "walrelay/config/log.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// How long the process waits at its end for Kafka clients to close.
constexpr std::chrono::seconds kCloseTimeout{3};
// The pipelines run by then.
constexpr std::chrono::seconds kSamplesAfterAFailure{2};

// Returns nullptr on failure: then only `walrelay reload` is unavailable; SIGHUP works.
std::unique_ptr<ControlServer> StartControl(const std::string& config_path, ReloadQueue& reloads) {
  auto server = ControlServer::Start(
      ProcessControlPrefix(config_path),
      [&reloads](std::string_view request) { return reloads.Answer(request); });
  if (!server.ok()) {
    LogStatus(LogLevel::kWarning, "no_control", server.status());
    return nullptr;
  }
  return *std::move(server);
}

std::string_view WordsFor(PipelineChange::Outcome outcome) {
  switch (outcome) {
    case PipelineChange::Outcome::kUnchanged:
      return "unchanged";
    case PipelineChange::Outcome::kStarted:
      return "started";
    case PipelineChange::Outcome::kReplaced:
      return "drains, then continues with the new configuration";
    case PipelineChange::Outcome::kRemoved:
      return "drains, then stops: it is no longer configured";
    case PipelineChange::Outcome::kInvalid:
      return "invalid; a running pipeline keeps its present configuration";
  }
  return "";
}

class Daemon {
 public:
  Daemon(ProcessSpec spec, const DaemonOptions& options, SignalFd& signals)
      : options_(options),
        signals_(signals),
        http_(std::move(spec.http)),
        log_(spec.log),
        wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        reloads_([this] { Wake(); }),
        notifier_(options.worker != nullptr ? options.worker->notifier()
                                            : SystemdNotifier::FromEnvironment(),
                  clock_),
        supervisor_(
            {.clock = clock_,
             .start =
                 [this](PipelineStart start) {
                   return StartPipelineThread({.clock = clock_,
                                               .observer = options_.observer,
                                               .first_sample = FirstSample()},
                                              MakeWalRunner, std::move(start));
                 },
             .list = list_,
             .registry = registry_,
             .wake = [this] { Wake(); },
             .seed = std::random_device()(),
             .restart = options.fleet,
             .failures = options.worker != nullptr ? options.worker->failures().pipelines()
                                                   : std::vector<PipelineFailure>(),
             .release =
                 [this](const PipelineIdentity& pipeline) { options_.worker->Release(pipeline); }}),
        specs_(std::move(spec.pipelines)) {
    WR_CHECK(wake_.valid(), "the kernel has eventfd");
  }

  DaemonEnd Run() {
    // Before the first connection, so that probes get an answer while Postgres or Kafka is
    // unavailable. A port that is in use ends the process here.
    std::unique_ptr<HttpServer> http;
    if (!http_.listen.empty()) {
      auto server = HttpServer::Listen(http_.listen,
                                       StatusEndpoints(list_, options_.fleet, registry_, clock_));
      if (!server.ok()) {
        return {.status = server.status()};
      }
      http = *std::move(server);
      LogInfo("listening", "serving /status, /livez, /readyz, /startupz and /metrics",
              {{"port", http->port()}});
    }
    const auto control = StartControl(options_.config_path, reloads_);
    supervisor_.Apply(std::move(specs_));
    if (http != nullptr) {
      http->Serve();  // before, the list has no pipeline
    }
    while (!supervisor_.finished()) {
      HandleSignals();
      reloads_.Serve([this] { return Reload(); });
      supervisor_.Turn();
      if (notifier_.due()) {
        notifier_.OnTurn(Reported());
      }
      if (!supervisor_.finished()) {
        Sleep();
      }
    }
    notifier_.OnStopping(Micros(0));
    const absl::Status& status = supervisor_.result();
    // After a second signal the operator wants the end now: no wait for the clients either.
    const Micros patience = absl::IsAborted(status) ? Micros(0) : kCloseTimeout;
    return {.status = status, .clients_closed = supervisor_.WaitForClients(patience)};
  }

 private:
  // After a failure all pipelines start at once, and events wait for them.
  Micros FirstSample() const {
    const bool failed = options_.worker != nullptr && options_.worker->failures().any();
    return failed ? kSamplesAfterAFailure : Micros(0);
  }

  void Wake() {
    WR_CHECK(eventfd_write(wake_.get(), 1) == 0, "the counter of an eventfd has room");
  }

  // Until a signal, a request, the end of a pipeline, or the next thing that is due.
  void Sleep() {
    Micros timeout = notifier_.interval();
    if (const auto start = supervisor_.next_start()) {
      timeout = std::clamp<Micros>(*start - clock_.Now(), Micros(0), timeout);
    }
    pollfd polled[] = {{signals_.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    (void)::poll(polled, std::size(polled),
                 static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count()));
    eventfd_t count = 0;
    eventfd_read(wake_.get(), &count);
  }

  void HandleSignals() {
    while (const int signal = signals_.Take()) {
      switch (signal) {
        case SIGHUP:
          (void)Reload();
          break;
        case SIGUSR1:
          for (const ReportedPipeline& pipeline : Reported()) {
            LogStatusOf(pipeline);
          }
          break;
        case SIGUSR2:
          ToggleDebug();
          break;
        default:
          notifier_.OnStopping(supervisor_.drain_timeout());
          supervisor_.RequestStop();
          // The threads may be in a call that nothing interrupts. Nothing is lost: the next start
          // reads the unconfirmed events again.
          if (options_.worker == nullptr) {
            ExitAtSignals({SIGTERM, SIGINT}, static_cast<int>(ExitCode::kTemporary));
          }
      }
    }
  }

  void ToggleDebug() {
    const bool debugging = CurrentLogLevel() == LogLevel::kDebug && log_.level != LogLevel::kDebug;
    SetLogLevel(debugging ? log_.level : LogLevel::kDebug);
    LogWarning("log_level", debugging ? "log level restored" : "log level set to debug",
               {{"now", debugging ? NameOf(log_.level) : NameOf(LogLevel::kDebug)}});
  }

  // Reads the configuration and applies what has changed. The first line of the answer is for
  // programs: "reloaded" or "failed".
  std::string Reload() {
    auto spec = options_.load();
    if (!spec.ok()) {
      LogStatus(LogLevel::kError, "reload_failed", spec.status());
      return fmt::format("failed\n{}\nNothing was changed.\n", Explain(spec.status()));
    }
    std::string text = ApplyToProcess(*spec);
    bool failed = false;
    for (const PipelineChange& change : supervisor_.Apply(std::move(spec->pipelines))) {
      failed = failed || !change.error.ok();
      text += Describe(change);
    }
    LogInfo("reloaded", failed ? "the configuration was read again; a part of it is invalid"
                               : "the configuration was read again");
    return (failed ? "failed\n" : "reloaded\n") + text;
  }

  // The sections of the process: the log level can change at run time.
  std::string ApplyToProcess(const ProcessSpec& spec) {
    std::string text;
    if (spec.log.level != log_.level) {
      log_.level = spec.log.level;
      SetLogLevel(log_.level);
      text += fmt::format("log.level is now {}\n", NameOf(log_.level));
    }
    if (spec.http != http_) {
      text += "http.listen: a change takes effect when the process is restarted\n";
    }
    if (spec.log.format != log_.format) {
      text += "log.format: a change takes effect when the process is restarted\n";
    }
    return text;
  }

  // One line, and the error of an invalid configuration.
  static std::string Describe(const PipelineChange& change) {
    const std::string name = change.name.empty() ? "the pipeline" : change.name;
    const std::string options = fmt::format("{}", fmt::join(change.options, ", "));
    if (!change.error.ok()) {
      LogStatus(LogLevel::kError, "reload_invalid", change.error, {{"pipeline", change.name}});
      return fmt::format("{}: {}\n{}\n", name, WordsFor(change.outcome), Explain(change.error));
    }
    if (change.outcome != PipelineChange::Outcome::kUnchanged) {
      LogInfo("pipeline_changed", WordsFor(change.outcome),
              {{"pipeline", change.name}, {"options", options}});
    }
    return fmt::format("{}: {}{}\n", name, WordsFor(change.outcome),
                       options.empty() ? "" : fmt::format(" ({})", options));
  }

  std::vector<ReportedPipeline> Reported() const {
    std::vector<ReportedPipeline> reported;
    for (const ListedPipeline& each : list_.Get()) {
      reported.push_back({.name = each.name,
                          .identity = each.identity.pipeline,
                          .board = each.board,
                          .running = each.running});
    }
    return reported;
  }

  const DaemonOptions& options_;
  SignalFd& signals_;
  const HttpConfig http_;  // as at the start
  LogConfig log_;          // the format as at the start
  const SystemClock clock_;
  PipelineList list_{http_.row_data};
  MetricsRegistry registry_;
  const UniqueFd wake_;
  ReloadQueue reloads_;
  StatusNotifier notifier_;
  Supervisor supervisor_;
  std::vector<PipelineSpec> specs_;  // until Run()
};

}  // namespace

DaemonSignals::DaemonSignals() : SignalFd({SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
  IgnoreBrokenPipes();
}

DaemonEnd RunDaemon(ProcessSpec spec, const DaemonOptions& options, SignalFd& signals) {
  return Daemon(std::move(spec), options, signals).Run();
}

}  // namespace walrelay
