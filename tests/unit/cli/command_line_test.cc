// The commands as seen from a shell: standard output, standard error and exit code.
#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>

#include "base/error_reference.h"
#include "cli/commit.h"
#include "config/reference.h"
#include "config/schema.h"
#include "fakes/captured_stream.h"
#include "fakes/environment_variable.h"
#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"
#include "findings/checks.h"
#include "http/http_server.h"
#include "metrics/metrics.h"
#include "sinks/kafka/mock/mock_cluster.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kUsage = 64;
constexpr int kConfiguration = 78;

class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineTest() {
    ::pthread_sigmask(SIG_BLOCK, nullptr, &signals_);
    std::filesystem::current_path(directory_.path());
  }
  // `run` blocks signals and reads them from a descriptor.
  ~CommandLineTest() override {
    ::pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
    std::filesystem::current_path(before_);
  }

  // Runs `walrelay` with these arguments; returns the exit code.
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "walrelay");
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    const testing::CapturedStream out(stdout);
    const testing::CapturedStream error(stderr);
    const int code = RunCommandLine(static_cast<int>(argv.size()), argv.data());
    out_ = out.Text();
    error_ = error.Text();
    return code;
  }
  // Calls Run() with loopback addresses that refuse connections.
  int RunLocally(std::vector<std::string> arguments) {
    for (const char* more : {"--dsn", "host=127.0.0.1 port=1 dbname=d user=u", "--kafka",
                             "127.0.0.1:1", "--set", "log.format=json"}) {
      arguments.emplace_back(more);
    }
    return Run(std::move(arguments));
  }
  void ExpectUsage(const std::vector<std::string>& arguments) {
    EXPECT_EQ(Run(arguments), kUsage) << ::testing::PrintToString(arguments);
    EXPECT_THAT(error_, StartsWith("walrelay: "));
    EXPECT_EQ(out_, "");
  }

  const std::filesystem::path before_ = std::filesystem::current_path();
  const testing::TemporaryDirectory directory_;
  const testing::EnvironmentVariable variable_{"WALRELAY_CONFIG", std::nullopt};
  std::string out_;
  std::string error_;

 private:
  sigset_t signals_;
};

// --- parsing ---

TEST_F(CommandLineTest, HelpSucceedsAndPrintsToStandardOutput) {
  EXPECT_EQ(Run({"--help"}), 0);
  for (const char* command :
       {"run", "check", "doctor", "progress", "setup", "demo", "config", "explain", "version"}) {
    EXPECT_THAT(out_, HasSubstr("\n  " + std::string(command) + " "));
    EXPECT_EQ(Run({command, "--help"}), 0);
    EXPECT_EQ(error_, "");
    EXPECT_EQ(Run({"--help"}), 0);
  }
}

TEST_F(CommandLineTest, HelpNamesEveryExitCode) {
  Run({"--help"});
  for (const ExitCode code :
       {ExitCode::kOk, ExitCode::kProblemsFound, ExitCode::kGap, ExitCode::kUsage,
        ExitCode::kUnavailable, ExitCode::kInternal, ExitCode::kTemporary, ExitCode::kPermission,
        ExitCode::kConfiguration}) {
    EXPECT_THAT(out_, HasSubstr(std::to_string(static_cast<int>(code)) + " "));
  }
}

TEST_F(CommandLineTest, InvalidCommandLinesExitWithUsage) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"frobnicate"},
                                             {""},
                                             {"--nope"},
                                             {"run", "--nope"},
                                             {"run", "--config"},
                                             {"run", "--events", "xml"},
                                             {"run", "surplus"},
                                             {"check", "--offline=maybe"},
                                             {"config"},
                                             {"config", "nope"},
                                             {"progress"},
                                             {"progress", "set"},
                                             {"demo", "--seconds", "1"},
                                             {"demo", "--seconds", "many"},
                                             {"demo", "--rate", "0"},
                                             {"version", "surplus"},
                                             {"run", "check"}}) {
    ExpectUsage(arguments);
  }
}

TEST_F(CommandLineTest, HelpCommandPrintsWhatTheFlagPrints) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{}, {"run"}, {"config", "show"}}) {
    std::vector<std::string> flag = command;
    flag.emplace_back("--help");
    EXPECT_EQ(Run(flag), 0);
    const std::string expected = out_;
    std::vector<std::string> help = {"help"};
    help.insert(help.end(), command.begin(), command.end());
    EXPECT_EQ(Run(help), 0);
    EXPECT_EQ(out_, expected);
  }
  ExpectUsage({"help", "runn"});
}

TEST_F(CommandLineTest, FirstUnknownArgumentIsNamedWithASuggestion) {
  struct Line {
    std::vector<std::string> arguments;
    const char* part;
  };
  for (const Line& line :
       {Line{{"runn"}, "unknown command \"runn\"; did you mean \"run\"?"},
        Line{{"config", "shwo"}, "config: unknown command \"shwo\"; did you mean \"show\"?"},
        Line{{}, "a command is missing"},
        Line{{"run", "--confg", "x"},
             "run: unknown option \"--confg\"; did you mean \"--config\"?"},
        Line{{"run", "--set", "a.b=c", "--bogus"}, "run: unknown option \"--bogus\""},
        Line{{"run", "-c", "x", "-x"}, "run: unknown option \"-x\""},
        Line{{"resume", "--accept-gap", "id", "--jsn"}, "resume: unknown option \"--jsn\""},
        Line{{"check", "surplus"}, "check: unexpected argument \"surplus\""}}) {
    ExpectUsage(line.arguments);
    EXPECT_THAT(error_, HasSubstr(line.part));
  }
}

TEST_F(CommandLineTest, InvalidValuesFoundAfterParsingExitWithUsage) {
  ExpectUsage({"explain"});
  ExpectUsage({"explain", "WR-9999"});
  ExpectUsage({"check", "--set", "source.slot"});
  ExpectUsage({"progress", "set", "--lsn", "0/0"});
  ExpectUsage({"progress", "set", "--lsn", "16-B374D848"});
}

TEST_F(CommandLineTest, ControlCharactersOfArgumentsAreNotPrinted) {
  for (const char* hostile : {"\x1b[2J", "a\x1b]0;t\a"}) {
    ExpectUsage({hostile});
    EXPECT_EQ(error_.find_first_of("\x1b\a"), std::string::npos);
    ExpectUsage({"explain", hostile});
    EXPECT_EQ(error_.find_first_of("\x1b\a"), std::string::npos);
    EXPECT_EQ(Run({"check", "--config", hostile}), kConfiguration);
    EXPECT_EQ(error_.find_first_of("\x1b\a"), std::string::npos);
  }
}

// --- commands that do not connect ---

TEST_F(CommandLineTest, VersionNamesTheLibraries) {
  EXPECT_EQ(Run({"version"}), 0);
  EXPECT_THAT(out_, StartsWith("walrelay " + std::string(Version()) + "\n"));
  EXPECT_THAT(out_, HasSubstr("  commit     " + std::string(Commit()) + "\n"));
  EXPECT_THAT(std::string(Commit()), MatchesRegex("unknown|[0-9a-f]{7,}(-dirty)?"));
  EXPECT_THAT(out_, HasSubstr("librdkafka"));
  EXPECT_EQ(Run({"--version"}), 0);
  EXPECT_EQ(out_, std::string(Version()) + "\n");
}

TEST_F(CommandLineTest, VersionIsAvailableAsJson) {
  EXPECT_EQ(Run({"version", "--json"}), 0);
  simdjson::dom::parser parser;
  const simdjson::padded_string json(out_);
  EXPECT_EQ(parser.parse(json)["version"].get_string().value(), Version());
  EXPECT_EQ(parser.parse(json)["commit"].get_string().value(), Commit());
}

TEST_F(CommandLineTest, CompletionPrintsTheScriptOfAShell) {
  EXPECT_EQ(Run({"completion", "bash"}), 0);
  EXPECT_THAT(out_, HasSubstr("complete -F _walrelay walrelay"));
  EXPECT_THAT(out_, HasSubstr("source.dsn="));
  ExpectUsage({"completion", "tcsh"});
  ExpectUsage({"completion"});
}

TEST_F(CommandLineTest, ManPrintsAPageAndIsNotListed) {
  EXPECT_EQ(Run({"man"}), 0);
  EXPECT_THAT(out_, StartsWith(".TH WALRELAY 1 "));
  EXPECT_THAT(out_, HasSubstr(".SH NAME\nwalrelay \\- publishes the outbox table"));
  EXPECT_THAT(out_, Not(HasSubstr("walrelay\\-man")));
  EXPECT_EQ(Run({"man", "walrelay-config-show"}), 0);
  EXPECT_THAT(out_, HasSubstr("\\-\\-config"));
  ExpectUsage({"man", "walrelay-nope"});
  EXPECT_EQ(Run({"man", "--directory", directory_.path()}), 0);
  EXPECT_TRUE(std::filesystem::exists(directory_.path() + "/walrelay-run.1"));
  EXPECT_EQ(Run({"man", "--directory", "/nonexistent"}), 70);
}

TEST_F(CommandLineTest, ConfigSchemaPrintsTheSchema) {
  EXPECT_EQ(Run({"config", "schema"}), 0);
  EXPECT_EQ(out_, ConfigSchema() + "\n");
}

TEST_F(CommandLineTest, ExplainPrintsMeaningAndRemedy) {
  EXPECT_EQ(Run({"explain", "WR-2101"}), 0);
  EXPECT_THAT(out_, StartsWith("WR-2101 "));
  EXPECT_THAT(out_, HasSubstr("what to do:"));
  EXPECT_EQ(error_, "");
}

TEST_F(CommandLineTest, ExplainDescribesTheChecksOfDoctor) {
  for (const char* name : {"slot.retained", "doctor.slot.retained"}) {
    EXPECT_EQ(Run({"explain", name}), 0);
    EXPECT_THAT(out_, StartsWith("slot.retained\n"));
    EXPECT_THAT(out_, HasSubstr("what to do:"));
  }
  EXPECT_EQ(Run({"explain", "--checks"}), 0);
  EXPECT_EQ(out_, CheckReference());
}

TEST_F(CommandLineTest, ExplainDescribesMetricsOptionsAndSections) {
  EXPECT_EQ(Run({"explain", "walrelay_build_info"}), 0);
  EXPECT_THAT(out_, StartsWith("walrelay_build_info\n"));
  EXPECT_EQ(Run({"explain", "source.slot"}), 0);
  EXPECT_THAT(out_, StartsWith("source.slot\n"));
  EXPECT_THAT(out_, HasSubstr("WALRELAY_SOURCE__SLOT"));
  EXPECT_EQ(Run({"explain", "compression"}), 0);
  EXPECT_THAT(out_, StartsWith("kafka.compression\n"));
  EXPECT_EQ(Run({"explain", "http"}), 0);
  EXPECT_THAT(out_, StartsWith("[http]"));
  ExpectUsage({"explain", "source.slott"});
  EXPECT_THAT(error_, HasSubstr("did you mean \"source.slot\"?"));
}

TEST_F(CommandLineTest, ExplainKnowsTheSeriesOfAHistogram) {
  for (const MetricEntry& metric : Metrics::Catalogue()) {
    if (metric.type == "histogram") {
      EXPECT_EQ(Run({"explain", std::string(metric.name) + "_bucket"}), 0) << metric.name;
    }
  }
}

TEST_F(CommandLineTest, ExplainPrintsTheWholeCatalogue) {
  EXPECT_EQ(Run({"explain", "--markdown"}), 0);
  EXPECT_EQ(out_, ErrorReference());
}

TEST_F(CommandLineTest, ConfigDocsPrintsTheReference) {
  EXPECT_EQ(Run({"config", "docs"}), 0);
  EXPECT_EQ(out_, ConfigReference());
}

TEST_F(CommandLineTest, ConfigShowMasksSecrets) {
  EXPECT_EQ(Run({"config", "show", "--dsn", "host=db password=hunter2", "--kafka", "k", "--set",
                 "kafka.sasl_password=hunter2"}),
            0);
  EXPECT_THAT(out_, HasSubstr("dsn = \"host=db password=***\""));
  EXPECT_THAT(out_ + error_, Not(HasSubstr("hunter2")));
}

TEST_F(CommandLineTest, InvalidConfigurationIsReportedWithItsLocation) {
  const std::string file = directory_.Write("a.toml", "[source]\nslott = 'a'\n");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"run"},
                                             {"check"},
                                             {"setup"},
                                             {"config", "show"},
                                             {"progress", "show"},
                                             {"progress", "init"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--config", file});
    EXPECT_EQ(RunLocally(arguments), kConfiguration) << command[0];
    EXPECT_THAT(error_, HasSubstr("a.toml:2:1"));
    EXPECT_EQ(out_, "");
  }
}

TEST_F(CommandLineTest, MissingOptionIsReportedWithAnExample) {
  for (const char* command : {"run", "check"}) {
    EXPECT_EQ(Run({command}), kConfiguration);
    EXPECT_THAT(error_, HasSubstr("WALRELAY_SOURCE__DSN"));
  }
}

// Without an id, the server's database is a part of the name of the topic.
TEST_F(CommandLineTest, ProgressNeedsPostgres) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"progress", "show"}, {"progress", "init"}, {"progress", "set", "--lsn", "0/1"}}) {
    EXPECT_EQ(RunLocally(command), 69);
    EXPECT_THAT(error_, HasSubstr("WR-2001"));
    EXPECT_EQ(out_, "");
  }
}

TEST_F(CommandLineTest, CheckOfflineConnectsToNothing) {
  EXPECT_EQ(RunLocally({"check", "--offline"}), 0);
  EXPECT_THAT(out_, HasSubstr("ok      the configuration is complete and consistent\n"));
}

TEST_F(CommandLineTest, CheckOfflineReportsConfigurationThatRunRefuses) {
  EXPECT_EQ(RunLocally({"check", "--offline", "--set", "kafka.librdkafka.acks=1"}), kConfiguration);
  EXPECT_EQ(Run({"check", "--offline", "--dsn", "host=db sslmode=disable", "--kafka", "k:1"}),
            kConfiguration);
  EXPECT_THAT(error_, HasSubstr("WR-1006"));
}

TEST_F(CommandLineTest, SetupPrintsWithoutADatabase) {
  EXPECT_EQ(Run({"setup", "--slot", "s", "--role", "r", "--failover"}), 0);
  EXPECT_THAT(out_, HasSubstr("pg_create_logical_replication_slot('s', 'pgoutput'"));
  EXPECT_THAT(out_, HasSubstr("CREATE ROLE \"r\""));
  EXPECT_THAT(out_, HasSubstr("failover => true"));
  EXPECT_EQ(error_, "");
}

TEST_F(CommandLineTest, SetupTakesThePasswordOfARoleThatItCreates) {
  EXPECT_EQ(Run({"setup", "--role", "r", "--password-file", "f"}), kUsage);
  EXPECT_EQ(Run({"setup", "--apply", "--password-stdin"}), kUsage);
  EXPECT_EQ(Run({"setup", "--apply", "--role", "r", "--password-stdin", "--password-file", "f"}),
            kUsage);
  EXPECT_EQ(Run({"setup", "--apply", "--dsn", "host=localhost", "--role", "r", "--password-file",
                 "/no/such/file"}),
            kConfiguration);
  EXPECT_THAT(error_, HasSubstr("WR-1005"));
}

TEST_F(CommandLineTest, SetupKnowsPlatforms) {
  EXPECT_EQ(Run({"setup", "--platform", "rds"}), 0);
  EXPECT_THAT(out_, HasSubstr("GRANT rds_replication TO \"walrelay\";"));
  EXPECT_EQ(Run({"setup", "--platform", "oracle"}), kUsage);
}

// --- commands that connect ---

TEST_F(CommandLineTest, SetupDoesNotApplyOverAnInsecureConnection) {
  EXPECT_EQ(Run({"setup", "--apply"}), kConfiguration);
  EXPECT_EQ(Run({"setup", "--apply", "--dsn", "host=192.0.2.1 sslmode=disable"}), kConfiguration);
  EXPECT_THAT(error_, HasSubstr("WR-1006"));
}

TEST_F(CommandLineTest, SetupApplyReportsAnUnreachableServer) {
  EXPECT_EQ(RunLocally({"setup", "--apply"}), 69);
  EXPECT_THAT(error_, StartsWith("walrelay: no configuration file; using flags and variables\n"
                                 "walrelay: WR-2001"));
}

TEST_F(CommandLineTest, CheckReportsPostgresAndKafkaAndExitsWithThree) {
  const auto cluster = MockCluster::Start(1);
  ASSERT_THAT(cluster, IsOk());
  EXPECT_EQ(Run({"check", "--dsn", "host=127.0.0.1 port=1 user=u", "--kafka",
                 (*cluster)->bootstrap_servers()}),
            3);
  EXPECT_THAT(out_, HasSubstr("problem WR-2001"));
  EXPECT_THAT(out_, HasSubstr("ok      Kafka: 1 broker, cluster"));
}

TEST_F(CommandLineTest, StatusPrintsThePagesOfTheRelay) {
  const auto server = HttpServer::Start(
      "127.0.0.1:0",
      {{"/status.txt",
        [](const PageRequest&) { return HttpResponse{.body = "streaming\n  since\n"}; }},
       {"/status.json", [](const PageRequest&) { return HttpResponse{.body = "{}\n"}; }}});
  ASSERT_THAT(server, IsOk());
  const std::string listen = "http.listen=127.0.0.1:" + std::to_string((*server)->port());
  EXPECT_EQ(Run({"status", "--set", listen}), 0);
  EXPECT_EQ(out_, "streaming\n  since\n");
  EXPECT_EQ(Run({"status", "--json", "--set", listen}), 0);
  EXPECT_EQ(out_, "{}\n");
}

TEST_F(CommandLineTest, ProbeResultIsTheExitCode) {
  const auto server = HttpServer::Start(
      "127.0.0.1:0",
      {{"/livez", [](const PageRequest&) { return HttpResponse{.body = "alive\n"}; }},
       {"/readyz",
        [](const PageRequest&) { return HttpResponse{.status = 503, .body = "not ready\n"}; }}});
  ASSERT_THAT(server, IsOk());
  const std::string listen = "http.listen=127.0.0.1:" + std::to_string((*server)->port());
  EXPECT_EQ(Run({"status", "--probe", "live", "--set", listen}), 0);
  EXPECT_EQ(Run({"status", "--probe", "ready", "--set", listen}), 3);
  EXPECT_EQ(out_, "not ready\n");
  ExpectUsage({"status", "--probe", "nonsense"});
}

TEST_F(CommandLineTest, StatusReportsThatNoRelayAnswers) {
  const auto address = FreeLoopbackAddress();
  ASSERT_THAT(address, IsOk());
  const std::string listen = "http.listen=" + *address;
  EXPECT_EQ(Run({"status", "--set", listen}), 69);
  EXPECT_THAT(error_, HasSubstr("WR-5007"));
  EXPECT_EQ(Run({"status", "--probe", "live", "--set", listen}), 69);
  EXPECT_EQ(RunLocally({"status", "--set", listen}), 69) << "Postgres is unreachable too";
  EXPECT_THAT(error_, HasSubstr("WR-2001"));
  EXPECT_EQ(Run({"status", "--set", "http.listen="}), 69);
}

TEST_F(CommandLineTest, RunRefusesInvalidOptionsBeforeItConnects) {
  EXPECT_EQ(RunLocally({"run", "--set", "http.listen=nowhere"}), kConfiguration);
  EXPECT_THAT(error_, HasSubstr("WR-5002"));
  EXPECT_EQ(RunLocally({"run", "--set", "route.regex=("}), kConfiguration);
  EXPECT_EQ(RunLocally({"run", "--set", "on_error.dead_letter_topic=a b"}), kConfiguration);
  EXPECT_EQ(out_, "");
}

TEST_F(CommandLineTest, RunRefusesAnHttpAddressInUse) {
  const auto other = HttpServer::Start("127.0.0.1:0", {});
  ASSERT_THAT(other, IsOk());
  const std::string listen = "http.listen=127.0.0.1:" + std::to_string((*other)->port());
  EXPECT_EQ(RunLocally({"run", "--set", listen}), kConfiguration);
  EXPECT_THAT(error_, HasSubstr("in use"));
}

TEST_F(CommandLineTest, RunLogsNoSecret) {
  const testing::EnvironmentVariable secret("WALRELAY_KAFKA__SASL_PASSWORD", "hunter2");
  const auto other = HttpServer::Start("127.0.0.1:0", {});
  ASSERT_THAT(other, IsOk());
  const std::string listen = "http.listen=127.0.0.1:" + std::to_string((*other)->port());
  EXPECT_EQ(RunLocally({"run", "--set", "source.password=hunter2", "--set", listen}),
            kConfiguration);
  EXPECT_THAT(error_, HasSubstr("\"event\":\"starting\""));
  EXPECT_THAT(error_, Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace walrelay
