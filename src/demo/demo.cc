#include "demo/demo.h"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <random>

#include "base/log.h"
#include "base/signal_fd.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "demo/delivery_times.h"
#include "demo/demo_output.h"
#include "demo/expected_events.h"
#include "demo/order_writer.h"
#include "demo/relay_process.h"
#include "demo/temporary_postgres.h"
#include "http/http_client.h"
#include "http/http_server.h"
#include "postgres/dsn.h"
#include "postgres/session.h"
#include "setup/setup.h"
#include "setup/setup_plan.h"
#include "sinks/kafka/mock/mock_cluster.h"
#include "sinks/kafka/topics/topic_reader.h"
#include "walrelay/config/kafka.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// For the relay to publish everything that was committed while it was down.
constexpr std::chrono::seconds kCatchUp{60};
// For one request to Postgres, Kafka or the relay.
constexpr std::chrono::seconds kReadBack{30};
// Until the relay is ready.
constexpr std::chrono::seconds kStart{30};
constexpr unsigned kHttpOk = 200;

class Demo {
 public:
  explicit Demo(const DemoOptions& options) : options_(options) {}

  absl::Status Run() {
    output_.Title("walrelay demo");
    WR_ASSIGN_OR_RETURN(http_, options_.http.empty() ? FreeLoopbackAddress() : options_.http);
    WR_RETURN_IF_ERROR(StartPostgres());
    WR_RETURN_IF_ERROR(StartKafka());
    WR_RETURN_IF_ERROR(SetUp());
    // Also after an error: a slot that remains would retain WAL on the user's server.
    const absl::Status status = CleanUp(Play());
    if (status.ok()) {
      output_.NextSteps(RelayProcess::Program());
    }
    return status;
  }

 private:
  absl::Status StartPostgres() {
    // The demonstration accepts what the user names; its own servers listen on this host only.
    source_.allow_insecure = true;
    if (!options_.postgres.empty()) {
      source_.dsn = options_.postgres;
      output_.Fact("Postgres", DescribeDsn(source_));
      return absl::OkStatus();
    }
    WR_ASSIGN_OR_RETURN(postgres_, TemporaryPostgres::Start());
    source_.dsn = postgres_->dsn();
    output_.Fact("Postgres", fmt::format("{}, a temporary cluster in {}", postgres_->version(),
                                         postgres_->directory()));
    return absl::OkStatus();
  }

  absl::Status StartKafka() {
    kafka_.allow_insecure = true;
    if (!options_.kafka.empty()) {
      kafka_.bootstrap_servers = options_.kafka;
      output_.Fact("Kafka", options_.kafka);
      return absl::OkStatus();
    }
    WR_ASSIGN_OR_RETURN(mock_, MockCluster::Start(/*brokers=*/3));
    for (const std::string& topic : Topics()) {
      mock_->CreateTopic(topic, /*partitions=*/3);
    }
    mock_->CreateTopic(ProgressTopic(), 1);  // these brokers cannot create it on request
    kafka_.bootstrap_servers = mock_->bootstrap_servers();
    output_.Fact("Kafka", fmt::format("three in-process brokers: {}", kafka_.bootstrap_servers));
    return absl::OkStatus();
  }

  absl::StatusOr<PgConnection> Connect() const {
    WR_ASSIGN_OR_RETURN(OpenedSession session,
                        OpenSession(source_, {.purpose = ConnectionPurpose::kSetup,
                                              .interrupt_fd = signals_.fd()}));
    return std::move(session.connection);
  }

  // Uses a separate schema, so that it can be removed completely from the user's database.
  absl::Status SetUp() {
    source_.slot = name_;
    source_.publication = name_;
    source_.tables.front().schema = name_;
    WR_ASSIGN_OR_RETURN(PgConnection connection, Connect());
    // Before the first statement: after an error half-way, CleanUp() removes what exists.
    set_up_ = true;
    WR_RETURN_IF_ERROR(
        connection.Query(fmt::format("CREATE SCHEMA {}", name_), kReadBack).status());
    WR_ASSIGN_OR_RETURN(const auto plan, PlanSetup(connection, source_, {.create_table = true}));
    for (const SetupStep& step : plan.steps) {
      WR_RETURN_IF_ERROR(connection.Query(step.sql, kReadBack).status());
    }
    output_.Fact("setup", fmt::format("schema, publication and slot {}", name_));
    return absl::OkStatus();
  }

  std::vector<std::string> Topics() const { return {prefix_ + "order", prefix_ + "payment"}; }

  std::string ProgressTopic() const { return fmt::format("{}.progress", name_); }

  // Everything that differs from the defaults, except the DSN: the command line in the process list
  // shows how the relay was started.
  std::vector<std::string> RelayArguments() const {
    std::vector<std::string> arguments = {
        "--kafka",       kafka_.bootstrap_servers, "--slot",  source_.slot,
        "--publication", source_.publication,      "--table", fmt::format("{}.outbox", name_)};
    for (const std::string& setting :
         {std::string("source.allow_insecure=true"), std::string("kafka.allow_insecure=true"),
          std::string("log.format=text"), "http.listen=" + http_,
          "kafka.progress_topic=" + ProgressTopic(),
          fmt::format("route.topic={}${{routedByValue}}", prefix_)}) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    return arguments;
  }

  absl::Status Play() {
    // The DSN may hold a password, which an argument would show in the process list.
    RelayProcess relay(RelayArguments(), {"WALRELAY_SOURCE__DSN=" + source_.dsn}, LogFile());
    WR_RETURN_IF_ERROR(StartRelay(relay, "relay"));
    WR_RETURN_IF_ERROR(WaitUntilReady(relay));
    WR_ASSIGN_OR_RETURN(PgConnection connection, Connect());
    output_.Header();
    OrderWriter writer(std::move(connection), fmt::format("{}.outbox", name_), options_.rate,
                       expected_);
    const auto half = std::chrono::milliseconds(options_.seconds * 500);
    WR_RETURN_IF_ERROR(Watch(relay, half));
    // Not SIGTERM: a drained relay has confirmed everything, and nothing would be published twice.
    relay.Kill();
    times_.OutageBegan(SystemClock().WallNow());
    output_.Note("the relay was killed with SIGKILL; orders are still written, none are relayed");
    WR_RETURN_IF_ERROR(Watch(relay, std::chrono::milliseconds(500)));
    WR_RETURN_IF_ERROR(StartRelay(relay, "restarted"));
    WR_RETURN_IF_ERROR(Watch(relay, half));
    while (options_.keep_running && !stopped_) {
      if (!std::exchange(invited_, true)) {
        Invite();
      }
      WR_RETURN_IF_ERROR(Watch(relay, std::chrono::seconds(1)));
    }
    // The writer first: the set of committed events must be final before the topics are compared.
    WR_RETURN_IF_ERROR(writer.Stop());
    return Conclude(relay);
  }

  absl::Status StartRelay(RelayProcess& relay, std::string_view what) {
    WR_RETURN_IF_ERROR(relay.Start());
    output_.Fact(what,
                 fmt::format("process {}, http://{}/, log {}", relay.pid(), http_, LogFile()));
    return absl::OkStatus();
  }

  // The time in which the relay connects is not part of the latency of an event.
  absl::Status WaitUntilReady(RelayProcess& relay) {
    const auto deadline = std::chrono::steady_clock::now() + kStart;
    while (!stopped_ && relay.running() && std::chrono::steady_clock::now() < deadline) {
      const auto answer = HttpGet(http_, "/readyz", kReadBack);
      if (answer.ok() && answer->status == kHttpOk) {
        return absl::OkStatus();
      }
      WR_RETURN_IF_ERROR(Watch(relay, std::chrono::milliseconds(20)));
    }
    return Error(ErrorCode::kDemoFailed,
                 fmt::format("the relay did not become ready; see {}", LogFile()));
  }

  void Invite() const {
    output_.Note("running until Ctrl-C; in another terminal, try:");
    output_.Fact("", fmt::format("kcat -C -b {} -t {}order -f '%k %h %s\\n'",
                                 kafka_.bootstrap_servers, prefix_));
    output_.Fact("", fmt::format("psql '{}' -c 'TABLE {}.outbox'",
                                 postgres_ ? source_.dsn : "your database", name_));
    output_.Fact("", fmt::format("curl http://{}/metrics", http_));
  }

  // Shows events as they are published. Returns early on Ctrl-C, and with an error if the relay has
  // exited although it was not killed.
  absl::Status Watch(RelayProcess& relay, Micros duration) {
    const auto until = std::chrono::steady_clock::now() + duration;
    while (!stopped_ && std::chrono::steady_clock::now() < until) {
      stopped_ = signals_.Take() != 0;
      const bool killed = relay.pid() < 0;
      // Without a child there are no events to wait for; only Ctrl-C matters.
      if (killed) {
        pollfd interrupt{signals_.fd(), POLLIN, 0};
        (void)::poll(&interrupt, 1, 20);
      } else if (!relay.running()) {
        return Error(ErrorCode::kDemoFailed,
                     fmt::format("the relay exited unexpectedly; see {}", LogFile()));
      } else {
        ReadEvents(relay);
      }
    }
    return absl::OkStatus();
  }

  void ReadEvents(RelayProcess& relay) {
    relay.ReadEvents(std::chrono::milliseconds(50), [&](const PublishedEvent& event) {
      output_.Event(event);
      times_.Add(event.committed, event.latency);
    });
  }

  // Waits until the relay has published all events, stops it, and verifies the topics.
  absl::Status Conclude(RelayProcess& relay) {
    const auto deadline = std::chrono::steady_clock::now() + kCatchUp;
    size_t in_kafka = 0;
    while (in_kafka < expected_.committed() && std::chrono::steady_clock::now() < deadline &&
           relay.running()) {
      ReadEvents(relay);
      // Events acknowledged just before the SIGKILL were not printed, so the topics are read.
      WR_ASSIGN_OR_RETURN(const auto records, ReadTopics(kafka_, Topics(), kReadBack));
      in_kafka = expected_.committed() - expected_.Verify(records).lost;
    }
    // SIGTERM drains, so an exit code other than 0 is a defect of the relay.
    const int exit_code = relay.Stop();
    WR_ASSIGN_OR_RETURN(const auto records, ReadTopics(kafka_, Topics(), kReadBack));
    const Verdict verdict = expected_.Verify(records);
    output_.Summary(verdict, expected_.transactions(), expected_.transactions_rolled_back(),
                    times_);
    if (!verdict.good()) {
      return Error(ErrorCode::kDemoFailed, "the records in Kafka differ from the committed events");
    }
    return exit_code == 0 ? absl::OkStatus()
                          : Error(ErrorCode::kDemoFailed,
                                  fmt::format("the relay exited with code {}", exit_code));
  }

  // Removes everything that the demonstration created in the user's database and Kafka cluster.
  absl::Status CleanUp(absl::Status status) {
    if (postgres_ == nullptr && set_up_) {
      auto connection = Connect();
      status.Update(connection.ok() ? UndoSetup(*connection, source_) : connection.status());
      if (connection.ok()) {
        status.Update(
            connection->Query(fmt::format("DROP SCHEMA {} CASCADE", name_), kReadBack).status());
      }
    }
    // The in-process brokers end with this process.
    if (mock_ == nullptr) {
      std::vector<std::string> topics = Topics();
      topics.push_back(ProgressTopic());
      status.Update(DeleteTopics(kafka_, topics, kReadBack));
    }
    return status;
  }

  std::string LogFile() const {
    return postgres_ ? postgres_->directory() + "/relay.log" : std::string("/dev/null");
  }

  const DemoOptions& options_;
  SignalFd signals_{SIGTERM, SIGINT};
  // Random: several demonstrations may use one server. Also a valid slot name and identifier.
  const std::string name_ = fmt::format("walrelay_demo_{:08x}", std::random_device()());
  const std::string prefix_ = options_.kafka.empty() ? "outbox.event." : fmt::format("{}.", name_);
  std::string http_;
  SourceConfig source_;
  KafkaConfig kafka_;
  std::unique_ptr<TemporaryPostgres> postgres_;
  std::unique_ptr<MockCluster> mock_;
  DemoOutput output_;
  ExpectedEvents expected_;
  DeliveryTimes times_;
  bool set_up_ = false;
  bool stopped_ = false;
  bool invited_ = false;
};

}  // namespace

absl::Status RunDemo(const DemoOptions& options) {
  return Demo(options).Run();
}

}  // namespace walrelay
