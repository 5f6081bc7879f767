// The only file that includes CLI11, which is large.

#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

constexpr char kFooter[] =
    "Exit codes: 0 done, 3 problems found, 4 events may be missing: a person must decide,\n"
    "64 usage, 65 input refused, 69 unavailable, 70 internal, 75 stopped early, 77 permission,\n"
    "78 configuration.";

class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", std::string(Version()));
    app_.footer(kFooter);
    AddRun();
    AddCheck();
    AddDoctor();
    AddStatus();
    AddResume();
    AddPrint();
    AddVerify();
    AddSetup();
    AddDemo();
    AddConfig();
    AddImport();
    AddExplain();
    AddVersion();
  }

  int Run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return OnParseError(error);
    }
    return static_cast<int>(chosen_());
  }

 private:
  // CLI11 has exit codes of its own; the documented one for a wrong command line is 64.
  int OnParseError(const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app_.exit(error);  // --help, --version
    }
    fmt::print(stderr, "walrelay: {}\n  what to do: walrelay --help, or walrelay COMMAND --help\n",
               Printable(error.what()));
    return static_cast<int>(ExitCode::kUsage);
  }

  // A command; `function` is what it does once all flags have been read.
  CLI::App* Add(CLI::App& parent, const char* name, const char* description,
                std::function<ExitCode()> function) {
    CLI::App* command = parent.add_subcommand(name, description);
    command->callback([this, function = std::move(function)] { chosen_ = function; });
    return command;
  }

  static void AddConfigFlags(CLI::App* command, ConfigFlags& flags) {
    command
        ->add_option("-c,--config", flags.file,
                     "The configuration: a walrelay.toml, or a Debezium connector's file")
        ->type_name("FILE");
    AddSettingFlags(command, flags);
  }

  static void AddSettingFlags(CLI::App* command, ConfigFlags& flags) {
    const auto add = [&](const char* name, std::string& value, const char* text, const char* type) {
      command->add_option(name, value, text)->type_name(type);
    };
    command->add_option("--set", flags.set, "Set one option; may be given again")
        ->type_name("SECTION.KEY=VALUE");
    add("--dsn", flags.dsn, "Where Postgres is (source.dsn)", "URI");
    add("--kafka", flags.kafka, "Where Kafka is (kafka.bootstrap_servers)", "HOSTS");
    add("--slot", flags.slot, "The replication slot (source.slot)", "NAME");
    add("--publication", flags.publication, "The publication (source.publication)", "NAME");
    add("--table", flags.table, "The outbox table (source.table)", "SCHEMA.TABLE");
  }

  void AddRun() {
    CLI::App* command =
        Add(app_, "run", "Relay until stopped (SIGTERM drains; a second one ends at once)",
            [this] { return RunCommand(run_); });
    AddConfigFlags(command, run_.config);
    command
        ->add_option("--events", run_.events,
                     "Print each acknowledged event on standard output, without payload")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"text", "json"}));
  }

  void AddCheck() {
    CLI::App* command =
        Add(app_, "check", "Would it run? Configuration, Postgres, slot, tables, Kafka",
            [this] { return CheckCommand(check_); });
    AddConfigFlags(command, check_.config);
    command->add_flag("--offline", check_.offline, "The configuration only; connect to nothing");
  }

  void AddDoctor() {
    CLI::App* command = Add(app_, "doctor",
                            "Is it well, and if not, why? All that check does, and more: settings, "
                            "latency, the slot's cost, brokers, topics; each with its remedy",
                            [this] { return DoctorCommand(doctor_); });
    AddConfigFlags(command, doctor_.config);
    command->add_flag("--json", doctor_.json, "As JSON (proto/walrelay/admin/v1/diagnosis.proto)");
    command->add_option("--fail-on", doctor_.fail_on, "What makes the exit code 3")
        ->type_name("SEVERITY")
        ->check(CLI::IsMember({"warning", "problem"}));
    command
        ->add_option("--write-probe", doctor_.write_probe,
                     "Also write one record to this topic, where it stays: key walrelay-doctor, no "
                     "value, a header walrelay.write_probe")
        ->type_name("TOPIC");
  }

  void AddStatus() {
    CLI::App* command = Add(app_, "status",
                            "How the relay of this machine is, and what its slot costs; from "
                            "Postgres alone when none runs",
                            [this] { return StatusCommand(status_); });
    AddConfigFlags(command, status_.config);
    command->add_flag("--json", status_.json, "As JSON (proto/walrelay/admin/v1/status.proto)");
    command->add_flag("--watch", status_.watch, "Again every two seconds, until interrupted");
    command
        ->add_option("--probe", status_.probe,
                     "For a container's health check: exit code 0 when it is, 3 when it is not")
        ->type_name("WHAT")
        ->check(CLI::IsMember({"live", "ready"}));
  }

  void AddResume() {
    CLI::App* command = Add(app_, "resume",
                            "Show the gap at which the relay of this machine holds; --accept-gap "
                            "lets it continue. Exit code 0: none is held (any more), 3: one is",
                            [this] {
                              resume_.accept = accept_gap_->count() > 0;
                              return ResumeCommand(resume_);
                            });
    AddConfigFlags(command, resume_.config);
    accept_gap_ = command
                      ->add_option("--accept-gap", resume_.gap,
                                   "Continue without the events that may be missing: of the gap "
                                   "that is shown, or only if it is this one")
                      ->type_name("[ID]")
                      ->expected(0, 1);
  }

  void AddPrint() {
    CLI::App* command =
        Add(app_, "print",
            "What would be published: from the slot's position to the log's end, from now on, or "
            "of given rows. Moves no slot, confirms nothing, asks no Kafka",
            [this] { return PrintCommand(print_); });
    AddConfigFlags(command, print_.config);
    command->add_flag("--json", print_.json, "One JSON object a line, values whole");
    CLI::Option* now = command->add_flag("--follow", print_.scope.follow,
                                         "What is committed from now on, until interrupted");
    command
        ->add_option("--id", print_.scope.ids,
                     "The row of this id, as it stands in the table; may be "
                     "given again")
        ->type_name("ID")
        ->excludes(now);
    command->add_option("--limit", print_.scope.limit, "End after so many records")->type_name("N");
  }

  void AddVerify() {
    CLI::App* command =
        Add(app_, "verify",
            "Is what stands in the topics what walrelay would have published? Record by record, of "
            "what is committed from now on, or of given rows",
            [this] { return VerifyCommand(verify_); });
    AddConfigFlags(command, verify_.config);
    command
        ->add_option("--id", verify_.scope.ids,
                     "The row of this id, as it stands in the table; may be given again")
        ->type_name("ID");
    command->add_option("--limit", verify_.scope.limit, "End after so many events")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000));
    command->add_option("--seconds", verify_.seconds, "How long events are taken")
        ->check(CLI::Range(1, 86'400));
    command->add_option("--timeout", verify_.timeout, "Seconds, for the last one to be there")
        ->check(CLI::Range(0, 3600));
  }

  void AddSetup() {
    CLI::App* command = Add(app_, "setup", "Print what the database needs, as SQL; --apply does it",
                            [this] { return SetupCommand(setup_); });
    AddConfigFlags(command, setup_.config);
    command->add_flag("--apply", setup_.apply,
                      "Run what is still missing, publication first, slot second");
    command->add_flag("--create-table", setup_.create_table,
                      "With --apply: make the outbox table where there is none");
    command->add_option("--role", setup_.role, "With --apply: make this role for walrelay")
        ->type_name("NAME");
    command->add_flag("--failover", setup_.failover,
                      "A slot that standbys keep in step (Postgres 17 and later)");
  }

  void AddDemo() {
    CLI::App* command =
        Add(app_, "demo", "See it work: throw-away Postgres, brokers in this process, a SIGKILL",
            [this] { return DemoCommand(demo_); });
    command
        ->add_option("--postgres", demo_.postgres,
                     "A Postgres of yours (wal_level = logical) instead")
        ->type_name("DSN");
    command->add_option("--kafka", demo_.kafka, "A Kafka of yours instead")->type_name("HOSTS");
    command->add_option("--http", demo_.http, "Where the relay serves its pages")
        ->type_name("ADDRESS:PORT");
    command->add_option("--seconds", demo_.seconds, "How long orders are taken")
        ->check(CLI::Range(2, 3600));
    command->add_option("--rate", demo_.rate, "Transactions a second")
        ->check(CLI::Range(0.1, 1000.0));
    command->add_flag("--keep-running", demo_.keep_running,
                      "Go on until Ctrl-C, to look at it with kcat and curl");
  }

  void AddConfig() {
    CLI::App* config =
        app_.add_subcommand("config", "The configuration: what is in force, what there is");
    config->require_subcommand(1);
    CLI::App* show = Add(*config, "show", "Print the values in force and where each came from",
                         [this] { return ConfigShowCommand(config_); });
    AddConfigFlags(show, config_.config);
    Add(*config, "docs", "Print the reference of all options, as Markdown", ConfigDocsCommand);
  }

  void AddImport() {
    CLI::App* import = app_.add_subcommand("import", "Make a walrelay.toml of what ran before");
    import->require_subcommand(1);
    CLI::App* command = Add(
        *import, "debezium",
        "Of a connector with the outbox EventRouter: Connect's JSON, a KafkaConnector resource, "
        "or Debezium Server's application.properties. What becomes of each property is told on "
        "standard error",
        [this] { return ImportDebeziumCommand(import_); });
    command->add_option("file", import_.file, "The connector's file; - for standard input")
        ->type_name("FILE")
        ->required();
    command
        ->add_option("--worker", import_.worker,
                     "The Connect worker's .properties: its converters, brokers and producer")
        ->type_name("FILE");
    command
        ->add_option("-o,--output", import_.output,
                     "Write to a new file, readable by you alone, passwords included; else to "
                     "standard output, without them")
        ->type_name("FILE");
    command->add_flag("--allow-lossy", import_.allow_lossy,
                      "Leave out what is refused, and write the rest");
    AddSettingFlags(command, import_.config);
  }

  void AddExplain() {
    CLI::App* command =
        Add(app_, "explain", "What an error code, or a check of doctor, means, and what to do",
            [this] { return ExplainCommand(explain_); });
    command->add_option("code", explain_.code, "WR-2101, or slot.retained")->type_name("CODE");
    command->add_flag("--markdown", explain_.markdown, "All codes, as Markdown");
    command->add_flag("--checks", explain_.checks, "All checks of doctor, as Markdown");
    command->add_flag("--metrics", explain_.metrics, "The metrics instead, as Markdown");
  }

  void AddVersion() {
    CLI::App* command = Add(app_, "version", "Print the version, and those of the libraries",
                            [this] { return VersionCommand(version_json_); });
    command->add_flag("--json", version_json_, "As JSON");
  }

  CLI::App app_{
      "walrelay: publishes the outbox table of a Postgres database to Kafka, from its write-ahead "
      "log."};
  std::function<ExitCode()> chosen_;
  RunFlags run_;
  CheckFlags check_;
  DoctorFlags doctor_;
  StatusFlags status_;
  ResumeFlags resume_;
  CLI::Option* accept_gap_ = nullptr;
  PrintFlags print_;
  VerifyFlags verify_;
  SetupFlags setup_;
  DemoFlags demo_;
  ConfigCommandFlags config_;
  ImportFlags import_;
  ExplainFlags explain_;
  bool version_json_ = false;
};

}  // namespace

int RunCommandLine(int argc, char** argv) {
  return CommandLine().Run(argc, argv);
}

}  // namespace walrelay
