// `walrelay run`: the daemon. Puts the parts together and waits for the end.

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <csignal>
#include <random>

#include "admin/http_server.h"
#include "admin/pages.h"
#include "base/log.h"
#include "base/system_clock.h"
#include "cli/commands.h"
#include "cli/event_printer.h"
#include "doctor/preflight.h"
#include "kafka/conf.h"
#include "kafka/kafka_producer.h"
#include "metrics/metrics.h"
#include "postgres/connection_parameters.h"
#include "postgres/pg_replication_source.h"
#include "postgres/slot_sampler.h"
#include "relay/announcer.h"
#include "relay/event_loop.h"
#include "relay/relay.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

LogLevel LevelOf(const LogConfig& log) {
  return log.level == "debug"     ? LogLevel::kDebug
         : log.level == "warning" ? LogLevel::kWarning
         : log.level == "error"   ? LogLevel::kError
                                  : LogLevel::kInfo;
}

LogFormat FormatOf(const LogConfig& log) {
  return log.format == "text"   ? LogFormat::kText
         : log.format == "json" ? LogFormat::kJson
                                : LogFormat::kAuto;
}

ProducerFactory MakeFactory(const Config& config, bool delivery_details) {
  return [&config,
          delivery_details](int64_t max_batch_bytes) -> absl::StatusOr<std::unique_ptr<Producer>> {
    WR_ASSIGN_OR_RETURN(KafkaConf conf,
                        MakeProducerConf(config.kafka, config.pipeline, max_batch_bytes));
    return KafkaProducer::Create(std::move(conf), {.delivery_details = delivery_details});
  };
}

Relay::DeliveryObserver MakeObserver(const std::string& events, const Clock& clock) {
  if (events.empty()) {
    return {};
  }
  return
      [printer = EventPrinter(events == "json", clock)](
          const Delivery& delivery, WallTime commit_time) { printer.Print(delivery, commit_time); };
}

SlotSampler::Callbacks MakeCallbacks(StatusBoard& board, EventLoop& loop) {
  return {.server_shutting_down = [&loop] { loop.Report(EventLoop::Sighting::kServerShutdown); },
          .slot_sampled =
              [&board, &loop](const SlotSample& sample) {
                board.SetSlot(sample);
                if (sample.past_budget() && sample.budget->drop_slot) {
                  loop.Report(EventLoop::Sighting::kRetainedLimit);
                }
                if (sample.past_server_limit()) {
                  loop.Report(EventLoop::Sighting::kSlotAlmostLost);
                }
              },
          .publication_checked =
              [&board](const absl::Status& problem) {
                if (!problem.ok() && board.source_problem().ok()) {
                  LogStatus(LogLevel::kError, "not_published", problem);
                }
                board.SetSourceProblem(problem);
              }};
}

// Passwords and payloads are in memory; a core file would take them to disk. The limit does not
// bind a kernel that pipes core files to a program, the other setting does.
void ForbidCoreDumps() {
  constexpr rlimit kNone{};
  (void)::setrlimit(RLIMIT_CORE, &kNone);
  (void)::prctl(PR_SET_DUMPABLE, 0);
}

// A random UUID, as Debezium gives to each start of its task.
std::string NewRunId() {
  std::random_device random;
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:04x}{:08x}", random(), random() & 0xFFFF,
                     random() & 0xFFF, 0x8000 | (random() & 0x3FFF), random() & 0xFFFF, random());
}

struct Signals {
  StopSignals stop;
  OperatorSignals operators;
};

// SIGUSR1: say how it is. SIGUSR2: log everything, and the next time as configured again. A signal
// can be sent by the same user and by root alone; no port is open for it.
void Obey(int signal, const Announcer& announcer, LogLevel configured) {
  if (signal == SIGUSR1) {
    announcer.LogStatus();
    return;
  }
  const bool debugging = CurrentLogLevel() == LogLevel::kDebug && configured != LogLevel::kDebug;
  SetLogLevel(debugging ? configured : LogLevel::kDebug);
  LogWarning("log_level", debugging ? "logging as configured again" : "logging everything",
             {{"now", debugging ? NameOf(configured) : NameOf(LogLevel::kDebug)}});
}

absl::Status Run(const Config& config, const std::string& events, Signals& signals) {
  WR_RETURN_IF_ERROR(CheckOffline(config));
  WR_ASSIGN_OR_RETURN(Router router,
                      Router::Create(config.source, config.route, config.format, NewRunId()));
  const SystemClock clock;
  Metrics metrics(config.source.slot);
  metrics.build_info[Version()].Set(1);
  StatusBoard board;
  board.Beat(clock.Now());
  std::unique_ptr<HttpServer> http;
  if (!config.http.listen.empty()) {
    const StatusIdentity identity{std::string(Version()), config.source.slot,
                                  config.source.publication};
    WR_ASSIGN_OR_RETURN(
        http, HttpServer::Start(config.http.listen, Pages(identity, board, metrics, clock)));
    LogInfo("listening", "serving /status, /livez, /readyz, /startupz and /metrics",
            {{"port", http->port()}});
  }
  PgReplicationSource source(config.source, signals.stop.fd());
  Relay relay({.config = config,
               .clock = clock,
               .source = source,
               .make_producer = MakeFactory(config, !events.empty()),
               .metrics = metrics,
               .board = board,
               .observer = MakeObserver(events, clock),
               .seed = std::random_device()()},
              std::move(router));
  Announcer announcer(ServiceManager::FromEnvironment(), clock, board,
                      config.pipeline.drain_timeout);
  EventLoop loop(
      relay, source, clock, signals.stop, signals.operators,
      {.after_turn = [&announcer] { announcer.OnTurn(); },
       .operator_signal = [&](int signal) { Obey(signal, announcer, LevelOf(config.log)); }});
  const SlotSampler sampler(config, clock, metrics, MakeCallbacks(board, loop));
  const absl::Status result = loop.Run();
  announcer.OnEnd();
  return result;
}

}  // namespace

ExitCode RunCommand(const RunFlags& flags) {
  ForbidCoreDumps();
  Signals signals;
  const auto loaded = LoadConfig(flags.config);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  const Config& config = loaded->config;
  StartLogging(LevelOf(config.log), FormatOf(config.log));
  LogInfo("starting", "walrelay is starting",
          {{"version", Version()},
           {"postgres", DescribeDsn(config.source)},
           {"kafka", config.kafka.bootstrap_servers},
           {"slot", config.source.slot},
           {"librdkafka", LibrdkafkaVersion()}});
  if (!loaded->import_summary.empty()) {
    LogInfo("imported", loaded->import_summary, {{"file", flags.config.file}});
  }
  const absl::Status status = Run(config, flags.events, signals);
  if (absl::IsAborted(status)) {
    StopLogging();
    return ExitCode::kTemporary;
  }
  if (!status.ok()) {
    LogStatus(LogLevel::kError, "failed", status);
  }
  StopLogging();
  return ExitCodeFor(status);
}

}  // namespace walrelay
