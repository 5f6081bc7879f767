// `walrelay run`: the daemon. Creates the components and runs the event loop.

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "admin/control_socket.h"
#include "admin/gap_control.h"
#include "admin/pages.h"
#include "base/log.h"
#include "base/system_clock.h"
#include "cli/commands.h"
#include "cli/event_printer.h"
#include "cli/preflight.h"
#include "http/http_server.h"
#include "kafka/conf.h"
#include "kafka/kafka_producer.h"
#include "metrics/metrics.h"
#include "postgres/connection_parameters.h"
#include "postgres/pg_replication_source.h"
#include "postgres/pg_snapshot_source.h"
#include "postgres/slot_sampler.h"
#include "relay/event_loop.h"
#include "relay/relay.h"
#include "status/status_notifier.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

// How long the process waits at its end for Kafka clients to close.
constexpr std::chrono::seconds kReaperTimeout{3};

// The relay calls the factory for each new producer. The configuration is built each time, because
// librdkafka takes ownership of it, and password files are read again with it.
ProducerFactory MakeFactory(const Config& config, bool delivery_details, Reaper& reaper,
                            Metrics& metrics) {
  KafkaProducer::Options options = KafkaProducer::OptionsFor(config.kafka);
  // The headers of a delivery are read only if they are printed.
  options.delivery_details = delivery_details;
  options.reaper = &reaper;
  options.on_partitions_changed = [&metrics] { metrics.partition_count_changes->Increment(); };
  return [&config, options](int64_t max_batch_bytes) -> absl::StatusOr<std::unique_ptr<Producer>> {
    WR_ASSIGN_OR_RETURN(KafkaConf conf,
                        MakeProducerConf(config.kafka, config.pipeline, max_batch_bytes));
    return KafkaProducer::Create(std::move(conf), options);
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

// The callbacks run on the sampler's thread. The board has a lock of its own; everything else is
// handed to the event loop, because only its thread may access the relay's state.
SlotSampler::Callbacks MakeCallbacks(StatusBoard& board, EventLoop& loop, const Clock& clock) {
  return {.server_shutting_down = [&loop] { loop.Report(EventLoop::ServerEvent::kServerShutdown); },
          .slot_sampled =
              [&board, &loop, &clock](const SlotSample& sample) {
                board.SetSlot(sample, clock.WallNow());
                // Only the relay drops a slot: it must first close its own stream, which uses the
                // slot.
                if (sample.past_budget() && sample.budget->drop_slot) {
                  loop.Report(EventLoop::ServerEvent::kRetainedLimit);
                }
                if (sample.past_server_limit()) {
                  loop.Report(EventLoop::ServerEvent::kSlotAlmostLost);
                }
              },
          .publication_checked =
              [&board, &clock](const absl::Status& problem) {
                // Logged once when the problem appears, and not at each poll.
                if (!problem.ok() && board.source_problem().ok()) {
                  LogStatus(LogLevel::kError, "not_published", problem);
                }
                board.SetSourceProblem(problem, clock.WallNow());
              },
          .publication_seen = [&loop](const PublicationState& look,
                                      MonoTime begun) { loop.Report(look, begun); },
          .look_failed = [&board](const absl::Status& error) { board.SetLookFailure(error); }};
}

// Returns nullptr on failure: then only `walrelay resume` is unavailable.
std::unique_ptr<ControlServer> StartControl(const Config& config, const StatusBoard& board,
                                            EventLoop& loop) {
  auto server = ControlServer::Start(
      ControlPrefix(config.source.slot, DescribeDsn(config.source)),
      [&board, &loop](std::string_view request) {
        return AnswerControl(request, board,
                             [&loop](std::string id) { loop.AcceptGap(std::move(id)); });
      });
  if (!server.ok()) {
    LogStatus(LogLevel::kWarning, "no_control", server.status());
    return nullptr;
  }
  return *std::move(server);
}

// Memory holds passwords and payloads, which a core file would write to disk. RLIMIT_CORE does not
// apply if the kernel pipes core files to a program; PR_SET_DUMPABLE does.
void ForbidCoreDumps() {
  // Errors are ignored: the relay works without this protection too.
  constexpr rlimit kNone{};
  (void)::setrlimit(RLIMIT_CORE, &kNone);
  (void)::prctl(PR_SET_DUMPABLE, 0);
}

// A random UUID, as Debezium generates at each start of its task.
std::string NewRunId() {
  // Version 4, variant 1 (RFC 9562): the digit 4 begins the third group, and the two high bits of
  // the fourth are 10.
  std::random_device random;
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:04x}{:08x}", random(), random() & 0xFFFF,
                     random() & 0xFFF, 0x8000 | (random() & 0x3FFF), random() & 0xFFFF, random());
}

struct Signals {
  StopSignals stop;
  OperatorSignals operators;
};

// SIGUSR1 logs the status. SIGUSR2 switches to log level debug, and back to the configured level
// the next time. Only the same user and root can send a signal; no port is needed.
void HandleOperatorSignal(int signal, const StatusNotifier& notifier, LogLevel configured) {
  if (signal == SIGUSR1) {
    notifier.LogStatus();
    return;
  }
  const bool debugging = CurrentLogLevel() == LogLevel::kDebug && configured != LogLevel::kDebug;
  SetLogLevel(debugging ? configured : LogLevel::kDebug);
  LogWarning("log_level", debugging ? "log level restored" : "log level set to debug",
             {{"now", debugging ? NameOf(configured) : NameOf(LogLevel::kDebug)}});
}

absl::Status Run(const Config& config, const std::string& events, Signals& signals,
                 Reaper& reaper) {
  // The checks that need no server come first: they end the process before it opens a port or a
  // connection.
  WR_RETURN_IF_ERROR(CheckOffline(config));
  WR_ASSIGN_OR_RETURN(Router router,
                      Router::Create(config.source, config.route, config.format, NewRunId(),
                                     RowLimits::For(config.kafka.max_record_bytes)));
  const SystemClock clock;
  const PipelineIdentity pipeline = IdentityOf(config.source);
  MetricsRegistry registry;
  Metrics metrics(registry, pipeline);
  metrics.build_info[Version()].Set(1);
  StatusBoard board(config.metrics.slot_poll_interval);
  board.Beat(clock.Now());
  // Before the first connection, so that probes get an answer while Postgres or Kafka is
  // unavailable. A port that is in use ends the process here.
  std::unique_ptr<HttpServer> http;
  if (!config.http.listen.empty()) {
    const StatusIdentity identity{std::string(Version()), pipeline, config.source.publication};
    WR_ASSIGN_OR_RETURN(http, HttpServer::Start(config.http.listen,
                                                StatusEndpoints(identity, board, registry, clock)));
    LogInfo("listening", "serving /status, /livez, /readyz, /startupz and /metrics",
            {{"port", http->port()}});
  }
  StatusNotifier notifier(SystemdNotifier::FromEnvironment(), clock, board,
                          config.pipeline.drain_timeout);
  // With a slow Postgres the thread stays in Open() and is still alive.
  const auto on_step = [&] {
    board.Beat(clock.Now());
    notifier.OnTurn();
  };
  // The stop signals' descriptor interrupts a connection attempt, which is the only thing that
  // blocks the thread.
  PgReplicationSource source(config.source, signals.stop.fd(), on_step);
  PgSnapshotSource snapshots(config.source, source);
  Relay relay({.config = config,
               .clock = clock,
               .source = source,
               .make_producer = MakeFactory(config, !events.empty(), reaper, metrics),
               .metrics = metrics,
               .board = board,
               .observer = MakeObserver(events, clock),
               .seed = std::random_device()(),
               .snapshots = config.source.wait_visible ? &snapshots : nullptr},
              std::move(router));
  EventLoop loop(
      relay, source, clock, signals.stop, signals.operators,
      {.after_turn = [&notifier] { notifier.OnTurn(); },
       .operator_signal =
           [&](int signal) { HandleOperatorSignal(signal, notifier, config.log.level); }});
  // Last, because their threads call the event loop and the board: they are destroyed first.
  const auto control = StartControl(config, board, loop);
  const SlotSampler sampler(config, clock, metrics, MakeCallbacks(board, loop, clock));
  const absl::Status result = loop.Run();
  notifier.OnEnd();
  return result;
}

}  // namespace

ExitCode RunCommand(const RunFlags& flags) {
  // Before the configuration is read, which may contain passwords.
  ForbidCoreDumps();
  // Before any thread starts: threads inherit the mask that blocks these signals, so that only the
  // signalfds receive them.
  Signals signals;
  const auto loaded = LoadConfig(flags.config);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  const Config& config = loaded->config;
  StartLogging(config.log.level, config.log.format);
  const LogScope scope(IdentityOf(config.source));
  LogInfo("starting", fmt::format("walrelay is starting on slot {}", config.source.slot),
          {{"version", Version()},
           {"postgres", DescribeDsn(config.source)},
           {"kafka", config.kafka.bootstrap_servers},
           {"librdkafka", LibrdkafkaVersion()}});
  if (!loaded->import_summary.empty()) {
    LogInfo("imported", loaded->import_summary, {{"file", flags.config.file}});
  }
  // Outlives the relay: a client that does not close in time may end after Run() has returned.
  Reaper reaper;
  const absl::Status status = Run(config, flags.events, signals, reaper);
  const bool aborted = absl::IsAborted(status);
  if (!status.ok() && !aborted) {
    LogStatus(LogLevel::kError, "failed", status);
  }
  // Aborted: by a second signal. The operator wants the end now: no wait for the clients either.
  const ExitCode code = aborted ? ExitCode::kTemporary : ExitCodeFor(status);
  // Closing a librdkafka client can take longer than a supervisor waits.
  const bool clients_ended = reaper.Wait(aborted ? Micros(0) : kReaperTimeout);
  StopLogging();
  if (!clients_ended) {
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code));  // their threads use what exit() would destroy
  }
  return code;
}

}  // namespace walrelay
