// CLI11 is large: only this file, command_tree_builder.cc and unknown_argument.cc include it.

#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/command_tree.h"
#include "cli/command_tree_builder.h"
#include "cli/commands.h"
#include "cli/unknown_argument.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

constexpr std::pair<ExitCode, const char*> kExitCodes[] = {
    {ExitCode::kOk, "success"},
    {ExitCode::kProblemsFound, "problems found"},
    {ExitCode::kGap, "possible gap: operator action required"},
    {ExitCode::kRow, "stopped by a row"},
    {ExitCode::kUsage, "usage error"},
    {ExitCode::kData, "invalid input"},
    {ExitCode::kUnavailable, "unavailable"},
    {ExitCode::kInternal, "internal error"},
    {ExitCode::kTemporary, "stopped early"},
    {ExitCode::kPermission, "permission denied"},
    {ExitCode::kConfiguration, "invalid configuration"}};

// "Exit codes: 0 success, 3 problems found, …", in lines that fit a terminal.
std::string Footer() {
  std::string out;
  std::string line = "Exit codes:";
  for (const auto& [code, meaning] : kExitCodes) {
    const std::string item = fmt::format(" {} {},", static_cast<int>(code), meaning);
    if (line.size() + item.size() > 80) {
      out += line + "\n";
      line = item.substr(1);
    } else {
      line += item;
    }
  }
  line.back() = '.';
  return out + line;
}

class CommandLine {
 public:
  CommandLine() {
    // The commands are listed by --help in this order.
    app_.require_subcommand(1);
    app_.set_version_flag("--version", std::string(Version()));
    app_.footer(Footer());
    AddRun();
    AddCheck();
    AddDoctor();
    AddStatus();
    AddResume();
    AddRecover();
    AddProgress();
    AddReload();
    AddPrint();
    AddVerify();
    AddRepublish();
    AddPrune();
    AddDeadLetters();
    AddInit();
    AddSetup();
    AddDemo();
    AddConfig();
    AddImport();
    AddExplain();
    AddVersion();
    AddHelp();
    AddCompletion();
    AddMan();
    tree_ = BuildCommandTree(app_);
    for (const auto& [code, meaning] : kExitCodes) {
      tree_.exit_statuses.push_back({static_cast<int>(code), meaning});
    }
  }

  // CLI11 reports an invalid command line by an exception. The command itself runs after parsing,
  // outside of the try block.
  int Run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return OnParseError(error, {argv + 1, argv + std::max(argc, 1)});
    }
    return static_cast<int>(chosen_());
  }

 private:
  // Replaces the exit codes of CLI11: the documented code for an invalid command line is 64.
  int OnParseError(const CLI::ParseError& error, std::span<char*> arguments) {
    if (error.get_exit_code() == 0) {
      return app_.exit(error);  // --help, --version
    }
    // CLI11 names neither a misspelt command nor what was meant by a misspelt flag.
    const bool unknown = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr ||
                         dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    const std::string message = unknown ? FirstUnknown(app_, arguments) : "";
    return static_cast<int>(UsageError(message.empty() ? error.what() : message));
  }

  // The message quotes the arguments, which may contain control characters.
  static ExitCode UsageError(std::string_view message) {
    fmt::print(stderr, "walrelay: {}\n  what to do: walrelay --help, or walrelay COMMAND --help\n",
               Printable(message));
    return ExitCode::kUsage;
  }

  // Adds a command. `function` runs it after all flags have been parsed.
  CLI::App* Add(CLI::App& parent, const char* name, const char* description,
                std::function<ExitCode()> function) {
    CLI::App* command = parent.add_subcommand(name, description);
    command->callback([this, function = std::move(function)] { chosen_ = function; });
    return command;
  }

  static void AddConfigFlags(CLI::App* command, ConfigFlags& flags) {
    command
        ->add_option(
            "-c,--config", flags.file,
            "Configuration file: walrelay.toml, or the configuration of a Debezium connector")
        ->type_name("FILE");
    AddSettingFlags(command, flags);
  }

  static void AddConfigDirFlag(CLI::App* command, std::string& directory, const char* text) {
    command->add_option("--config-dir", directory, text)->type_name("DIR")->excludes("--config");
  }

  // The flags have no default values: "" means "not given", so that the file and the environment
  // keep theirs.
  static void AddSettingFlags(CLI::App* command, ConfigFlags& flags) {
    const auto add = [&](const char* name, std::string& value, const char* text, const char* type) {
      command->add_option(name, value, text)->type_name(type);
    };
    add("--worker", flags.worker,
        "For a connector's file: the Connect worker's .properties, for its converters, brokers and "
        "producer",
        "FILE");
    command->add_option("--set", flags.set, "Set one option (repeatable)")
        ->type_name("SECTION.KEY=VALUE");
    add("--dsn", flags.dsn, "Postgres connection string (source.dsn)", "URI");
    add("--kafka", flags.kafka, "Kafka bootstrap servers (kafka.bootstrap_servers)", "HOSTS");
    add("--slot", flags.slot, "Replication slot (source.slot)", "NAME");
    add("--publication", flags.publication, "Publication (source.publication)", "NAME");
    add("--table", flags.table, "Outbox table (source.table)", "SCHEMA.TABLE");
  }

  void AddRun() {
    CLI::App* command = Add(
        app_, "run",
        "Run the relay until it is stopped (SIGTERM drains; a second SIGTERM exits immediately)",
        [this] { return RunCommand(run_); });
    AddConfigFlags(command, run_.config);
    AddConfigDirFlag(command, run_.config_dir,
                     "Run one pipeline per file of this directory (*.toml, *.json)");
    command
        ->add_option("--events", run_.events,
                     "Print each acknowledged event to standard output, without its payload")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"text", "json"}));
  }

  void AddCheck() {
    CLI::App* command =
        Add(app_, "check",
            "Check that the relay can start: configuration, Postgres, slot, tables, Kafka",
            [this] { return CheckCommand(check_); });
    AddConfigFlags(command, check_.config);
    AddConfigDirFlag(command, check_.config_dir, "Check every pipeline of this directory");
    command->add_flag("--offline", check_.offline,
                      "Check only the configuration; do not connect to Postgres or Kafka");
  }

  void AddDoctor() {
    CLI::App* command = Add(app_, "doctor",
                            "Diagnose a deployment: everything `check` does, plus settings, "
                            "latency, WAL retained by the slot, brokers and topics, with a fix "
                            "for each finding",
                            [this] { return DoctorCommand(doctor_); });
    AddConfigFlags(command, doctor_.config);
    command->add_flag("--json", doctor_.json,
                      "Print JSON (proto/walrelay/admin/v1/diagnosis.proto)");
    command
        ->add_option("--fail-on", doctor_.fail_on,
                     "Minimum severity for exit code 3 (default: problem)")
        ->type_name("SEVERITY")
        ->check(CLI::IsMember({"warning", "problem"}));
    command
        ->add_option("--write-probe", doctor_.write_probe,
                     "Also write one record to this topic: key walrelay-doctor, no value, a header "
                     "walrelay.write_probe. The record is not removed")
        ->type_name("TOPIC");
  }

  void AddStatus() {
    CLI::App* command = Add(app_, "status",
                            "Show the status of the relay on this host and of its slot; without a "
                            "running relay, of the slot and the tables, from Postgres and the "
                            "progress record",
                            [this] { return StatusCommand(status_); });
    AddConfigFlags(command, status_.config);
    command->add_flag("--json", status_.json, "Print JSON (proto/walrelay/admin/v1/status.proto)");
    command->add_flag("--watch", status_.watch, "Repeat every two seconds until interrupted");
    command
        ->add_option(
            "--probe", status_.probe,
            "For a container health check: exit 0 if the relay is live or ready, 3 if it is "
            "not, 69 if it does not answer")
        ->type_name("WHAT")
        ->check(CLI::IsMember({"live", "ready"}));
  }

  void AddResume() {
    CLI::App* command = Add(app_, "resume",
                            "Show the gap at which the relay on this host is on hold; --accept-gap "
                            "lets it continue. Exit code 0: no gap is held, 3: a gap is held",
                            [this] {
                              resume_.accept = accept_gap_->count() > 0;
                              return ResumeCommand(resume_);
                            });
    AddConfigFlags(command, resume_.config);
    accept_gap_ = command
                      ->add_option("--accept-gap", resume_.gap,
                                   "Continue without the events that may be missing in the gap "
                                   "shown; with ID, only if it is that gap")
                      ->type_name("[ID]")
                      // The ID is optional, so its absence says nothing about the flag: the number
                      // of its occurrences does (count() above).
                      ->expected(0, 1);
  }

  void AddRecover() {
    CLI::App* command =
        Add(app_, "recover",
            "Replace a slot that was lost, and publish the rows that no slot streams, from the "
            "outbox table. Without --apply it prints the plan and changes nothing. Exit code 3: "
            "the plan has changed, 4: choose the rows, 5: stopped by a row",
            [this] { return RecoverCommand(recover_); });
    AddConfigFlags(command, recover_.config);
    command
        ->add_option("--apply", recover_.apply,
                     "Execute this plan, with the same flags as when it was printed. It may have "
                     "got more rows since, nothing else")
        ->type_name("PLAN");
    command->add_flag("--json", recover_.json, "Print JSON");
    AddRecoverRows(command);
    command
        ->add_option("--dedupe", recover_.dedupe,
                     "tail: do not publish what the topics have already (default); none: do not "
                     "read the topics")
        ->type_name("HOW")
        ->check(CLI::IsMember({"tail", "none"}));
    command
        ->add_option("--compare-since", recover_.compare_since,
                     "Read the topics from this time on (default: as the progress record shows)")
        ->type_name("TIME");
    command
        ->add_option("--order-by", recover_.order_by,
                     "Publish in the order of this column (default: commit time if the server "
                     "records it, else the id)")
        ->type_name("COLUMN");
    command
        ->add_option("--max-rows", recover_.max_rows, "Apply no plan that has more rows than this")
        ->type_name("N");
    command->add_flag(
        "--accept-deletion", recover_.accept_deletion,
        "Also apply a plan with records that are older than their topic keeps records: "
        "Kafka deletes these soon after they are published");
    command->add_flag("--failover", recover_.failover,
                      "The new slot is a failover slot (Postgres 17 and later; default: as the old "
                      "one)");
    command->add_flag("--upgraded", recover_.upgraded,
                      "This server is what pg_upgrade made of the one in the progress record: what "
                      "the record proves holds for it");
  }

  void AddRecoverRows(CLI::App* command) {
    CLI::Option* since =
        command
            ->add_option("--since", recover_.since,
                         "Rows of this time or later, instead of those that the progress record "
                         "does not prove to be published (2026-11-20T08:14:02Z)")
            ->type_name("TIME");
    command
        ->add_option("--time-column", recover_.time_column,
                     "With --since: the column with the time (default: route.timestamp_column, "
                     "or created_at, or the commit time)")
        ->type_name("COLUMN")
        ->needs(since);
    CLI::Option* after = command
                             ->add_option("--after-id", recover_.after_id,
                                          "Rows with a greater id than this, instead")
                             ->type_name("ID")
                             ->excludes(since);
    command->add_flag("--all", recover_.all, "All rows, instead")->excludes(since)->excludes(after);
  }

  void AddProgress() {
    CLI::App* progress = app_.add_subcommand(
        "progress",
        "Show or write the progress record: what is published, as the pipeline's topic in Kafka "
        "says (pipeline.progress)");
    progress->require_subcommand(1);
    CLI::App* show =
        Add(*progress, "show", "Print the progress record. Exit code 3 if there is none",
            [this] { return ProgressShowCommand(progress_); });
    AddConfigFlags(show, progress_.config);
    show->add_flag("--json", progress_.json, "Print JSON");
    CLI::App* init = Add(*progress, "init",
                         "Write the first record of a pipeline that ran without one: everything "
                         "before the slot's confirmed position counts as published. Stop the relay "
                         "before",
                         [this] { return ProgressInitCommand(progress_); });
    AddConfigFlags(init, progress_.config);
    init->add_flag("--force", progress_.force, "Replace an existing record");
    CLI::App* set = Add(*progress, "set",
                        "Write a record with a chosen position. Events of transactions that "
                        "committed before it count as published: walrelay never publishes them. "
                        "Stop the relay before",
                        [this] { return ProgressSetCommand(progress_); });
    AddConfigFlags(set, progress_.config);
    set->add_option("--lsn", progress_.lsn, "The position, as Postgres prints it: 16/B374D848")
        ->type_name("LSN")
        ->required();
    set->add_flag("--force", progress_.force,
                  "Also a position before the slot's confirmed position or beyond the end of the "
                  "WAL, at which the relay then holds (a gap), and the record of another pipeline");
  }

  void AddPrune() {
    CLI::App* command =
        Add(app_, "prune",
            "Show which rows and partitions of the outbox [prune] would delete, mark, create or "
            "drop now, with the proof of the relay that runs on this host",
            [this] { return PruneCommand(prune_); });
    AddConfigFlags(command, prune_.config);
    command->add_flag("--apply", prune_.apply, "Do it");
    command->add_flag("--older-rows-published", prune_.older_rows_published,
                      "Rows from before the proof are published, too: you know it, walrelay does "
                      "not. For example after a migration from Debezium");
    command->add_flag("--json", prune_.json, "Print JSON");
  }

  void AddReload() {
    CLI::App* command =
        Add(app_, "reload",
            "Make the process on this host read its configuration again, and print what changes",
            [this] { return ReloadCommand(reload_); });
    command
        ->add_option("-c,--config", reload_.config.file,
                     "The configuration file with which the process was started")
        ->type_name("FILE");
    AddConfigDirFlag(command, reload_.config_dir,
                     "The directory with which the process was started");
  }

  void AddPrint() {
    CLI::App* command =
        Add(app_, "print",
            "Print what would be published: from the slot's position to the end of the WAL, from "
            "now on, or for given rows. Does not advance the slot, and does not connect to Kafka",
            [this] { return PrintCommand(print_); });
    AddConfigFlags(command, print_.config);
    command->add_flag("--json", print_.json,
                      "Print one JSON object per line, with untruncated values");
    CLI::Option* now = command->add_flag("--follow", print_.scope.follow,
                                         "Print events committed from now on, until interrupted");
    command
        ->add_option("--id", print_.scope.ids,
                     "Print the row with this id, as it is in the table now (repeatable)")
        ->type_name("ID")
        ->excludes(now);
    command->add_option("--limit", print_.scope.limit, "Stop after this many records")
        ->type_name("N");
  }

  void AddVerify() {
    CLI::App* command =
        Add(app_, "verify",
            "Compare the records in the topics with the records walrelay would have published, for "
            "events committed from now on or for given rows",
            [this] { return VerifyCommand(verify_); });
    AddConfigFlags(command, verify_.config);
    command
        ->add_option("--id", verify_.scope.ids,
                     "Compare the row with this id, as it is in the table now (repeatable)")
        ->type_name("ID");
    command->add_option("--limit", verify_.scope.limit, "Stop after this many events")
        ->type_name("N")
        // `verify` holds all expected records in memory.
        ->check(CLI::Range(1, 1'000'000));
    command
        ->add_option("--seconds", verify_.seconds,
                     "How long to collect events, in seconds (default: 60)")
        ->check(CLI::Range(1, 86'400));
    command
        ->add_option("--timeout", verify_.timeout,
                     "Seconds to wait until all records are in the topics (default: 30)")
        ->check(CLI::Range(0, 3600));
  }

  void AddRepublish() {
    CLI::App* command =
        Add(app_, "republish",
            "Publish rows of the outbox table again, with a header that marks them. The relay may "
            "run meanwhile: consumers may see such an event after later ones of its key",
            [this] { return RepublishCommand(republish_); });
    AddConfigFlags(command, republish_.config);
    AddRowFlags(command);
    command->add_option("--topic", republish_.topic, "Publish to this topic (default: the rows')")
        ->type_name("NAME");
    command
        ->add_option("--header", republish_.header,
                     "The name of the header, whose value is the time of the run (default: "
                     "walrelay.republished)")
        ->type_name("NAME");
    command->add_option("--rate", republish_.rate, "Publish at most this many rows per second")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000));
    AddAcceptDeletionFlag(command, republish_.accept_deletion);
    CLI::Option* dry_run = command->add_flag(
        "--dry-run", republish_.dry_run,
        "Print the records instead, and their number; do not connect to Kafka, except for "
        "--after-lsn");
    command->add_flag("--json", republish_.json, "With --dry-run: print one JSON object per line")
        ->needs(dry_run);
  }

  static void AddAcceptDeletionFlag(CLI::App* command, bool& accept) {
    command->add_flag("--accept-deletion", accept,
                      "Also publish records that are older than their topic keeps records: Kafka "
                      "deletes these soon after they are published");
  }

  void AddRowFlags(CLI::App* command) {
    RowSelection& rows = republish_.selection;
    command->add_option("--id", rows.ids, "The row with this id (repeatable)")->type_name("ID");
    command->add_option("--after-id", rows.after_id, "Rows with a greater id")->type_name("ID");
    command->add_option("--key", rows.key, "Rows with this aggregate id")->type_name("KEY");
    command
        ->add_option("--since", republish_.since,
                     "Rows of this time and later, as in 2026-11-20T08:00:00Z")
        ->type_name("TIME");
    command->add_option("--until", republish_.until, "Rows before this time")->type_name("TIME");
    command
        ->add_option("--time-column", rows.time_column,
                     "The column that --since and --until refer to (default: "
                     "route.timestamp_column, else created_at, else the commit time)")
        ->type_name("NAME");
    command
        ->add_option("--after-lsn", republish_.after_lsn,
                     "Rows that committed at this position or later, and some that committed "
                     "shortly before, by the progress record")
        ->type_name("LSN");
    command->add_flag("--all", republish_.all, "Every row of the table");
    command->add_option("--limit", rows.limit, "At most this many of the selected rows")
        ->type_name("N");
    command
        ->add_option("--order-by", rows.order_by,
                     "Publish in the order of this column (default: commit time if the server "
                     "records it, else a numeric id, else transaction id)")
        ->type_name("NAME");
  }

  void AddDeadLetters() {
    CLI::App* letters = app_.add_subcommand(
        "dead-letters",
        "List the rows in the topic for dead letters, show one, or publish them after their cause "
        "was fixed");
    letters->require_subcommand(1);
    CLI::App* list = Add(*letters, "list", "Print a line for each dead letter",
                         [this] { return DeadLettersListCommand(dead_letters_); });
    AddConfigFlags(list, dead_letters_.config);
    list->add_flag("--json", dead_letters_.json, "Print one JSON object per line");
    AddCodeFlag(list);
    list->add_flag("--open", dead_letters_.open, "Only those that were not published by retry");
    list->add_option("--limit", dead_letters_.limit, "Print at most this many")->type_name("N");
    CLI::App* show =
        Add(*letters, "show", "Print everything of one dead letter. Exit code 3 if there is none",
            [this] { return DeadLettersShowCommand(dead_letters_); });
    AddConfigFlags(show, dead_letters_.config);
    show->add_flag("--json", dead_letters_.json, "Print JSON");
    show->add_option("id", dead_letters_.show, "The id, as list prints it: 0/42")
        ->type_name("ID")
        ->required();
    CLI::App* retry = Add(*letters, "retry",
                          "Publish dead letters as the configuration now routes their rows, with a "
                          "header that marks them. Exit code 3 if one fails again",
                          [this] { return DeadLettersRetryCommand(dead_letters_); });
    AddConfigFlags(retry, dead_letters_.config);
    retry->add_option("--id", dead_letters_.ids, "The dead letter with this id (repeatable)")
        ->type_name("ID");
    AddCodeFlag(retry);
    retry->add_flag("--all", dead_letters_.all, "Every dead letter");
    retry->add_flag("--again", dead_letters_.again,
                    "Also those that an earlier retry has published");
    retry->add_flag("--trust-topic", dead_letters_.trust_topic,
                    "Publish the rows that the dead letters have, also those that are not in their "
                    "table: only if no other user may write to the topic");
    AddAcceptDeletionFlag(retry, dead_letters_.accept_deletion);
    CLI::Option* dry_run = retry->add_flag("--dry-run", dead_letters_.dry_run,
                                           "Print the records instead, and their number");
    retry->add_flag("--json", dead_letters_.json, "With --dry-run: print one JSON object per line")
        ->needs(dry_run);
  }

  void AddCodeFlag(CLI::App* command) {
    command
        ->add_option("--code", dead_letters_.codes,
                     "Those with this error code, such as WR-3006 (repeatable)")
        ->type_name("CODE");
  }

  void AddInit() {
    CLI::App* command =
        Add(app_, "init",
            "Write a configuration for an outbox table that exists: which column is which part of "
            "an event, with the reasons, and what to decide",
            [this] { return InitCommand(init_); });
    command
        ->add_option("--from-table", init_.from_table,
                     "The table, whose columns and indexes are read from the catalog")
        ->type_name("[SCHEMA.]TABLE")
        ->required();
    command
        ->add_option("-o,--output", init_.output,
                     "Write to a new file (mode 0600); the default is standard output")
        ->type_name("FILE");
    command->add_flag("--force", init_.force, "With --output: replace an existing file");
    AddConfigFlags(command, init_.config);
  }

  void AddSetup() {
    CLI::App* command =
        Add(app_, "setup", "Print the SQL that prepares the database; --apply executes it",
            [this] { return SetupCommand(setup_); });
    AddConfigFlags(command, setup_.config);
    CLI::Option* apply =
        command->add_flag("--apply", setup_.apply,
                          "Execute the missing steps: first the publication, then the slot. Steps "
                          "that the role may not execute are printed");
    command->add_flag("--create-table", setup_.create_table,
                      "With --apply: create the outbox table if it does not exist");
    command
        ->add_option("--partitioned", setup_.partitioned,
                     "With --create-table: partition the table by the time of its rows, with "
                     "partitions for the next periods; with --apply also create those that an "
                     "existing table lacks")
        ->type_name("PERIOD")
        ->check(CLI::IsMember({"hourly", "daily", "weekly", "monthly"}));
    CLI::Option* role =
        command->add_option("--role", setup_.role, "With --apply: create this role for walrelay")
            ->type_name("NAME");
    CLI::Option* file =
        command
            ->add_option("--password-file", setup_.password_file,
                         "With --role: set the role's password to the content of this file, "
                         "which other users must not be able to read. Postgres gets its hash")
            ->type_name("FILE")
            ->needs(apply, role);
    command
        ->add_flag("--password-stdin", setup_.password_stdin,
                   "The same, with the password from standard input")
        ->needs(apply, role)
        ->excludes(file);
    command
        ->add_option("--platform", setup_.platform,
                     "Where the server runs, if its SQL or its settings differ: rds, aurora, "
                     "cloud-sql, azure or supabase (default with --apply: as found)")
        ->type_name("PLATFORM")
        ->check(CLI::IsMember({"rds", "aurora", "cloud-sql", "azure", "supabase"}));
    command->add_flag("--failover", setup_.failover,
                      "Create a failover slot, synchronized to standbys (Postgres 17 and later)");
  }

  void AddDemo() {
    CLI::App* command =
        Add(app_, "demo",
            "Run a demonstration: temporary Postgres, in-process brokers, a relay that is killed",
            [this] { return DemoCommand(demo_); });
    command
        ->add_option("--postgres", demo_.postgres,
                     "Use this Postgres server instead (wal_level = logical)")
        ->type_name("DSN");
    command->add_option("--kafka", demo_.kafka, "Use these Kafka brokers instead")
        ->type_name("HOSTS");
    command->add_option("--http", demo_.http, "Listen address of the relay's HTTP server")
        ->type_name("ADDRESS:PORT");
    command
        ->add_option("--seconds", demo_.seconds,
                     "How long orders are written, in seconds (default: 8)")
        ->check(CLI::Range(2, 3600));
    command->add_option("--rate", demo_.rate, "Transactions per second (default: 10)")
        ->check(CLI::Range(0.1, 1000.0));
    command->add_flag("--keep-running", demo_.keep_running,
                      "Keep running until Ctrl-C, to inspect it with kcat and curl");
  }

  void AddConfig() {
    CLI::App* config = app_.add_subcommand(
        "config",
        "Show the configuration in effect, the reference of all options, or their schema");
    config->require_subcommand(1);
    CLI::App* show = Add(*config, "show", "Print the values in effect and the origin of each",
                         [this] { return ConfigShowCommand(config_); });
    AddConfigFlags(show, config_.config);
    Add(*config, "docs", "Print the reference of all options as Markdown", ConfigDocsCommand);
    Add(*config, "schema",
        "Print the JSON Schema of the configuration file, by which editors complete and check it",
        ConfigSchemaCommand);
  }

  void AddImport() {
    CLI::App* import =
        app_.add_subcommand("import", "Convert another tool's configuration to walrelay.toml");
    import->require_subcommand(1);
    CLI::App* command =
        Add(*import, "debezium",
            "Convert a Debezium connector with the outbox EventRouter (Connect's JSON, a "
            "KafkaConnector resource, or Debezium Server's application.properties). A report per "
            "property goes to standard error",
            [this] { return ImportDebeziumCommand(import_); });
    command
        ->add_option("file", import_.file,
                     "The connector's configuration file; - for standard input")
        ->type_name("FILE")
        ->required();
    command
        ->add_option("-o,--output", import_.output,
                     "Write to a new file (mode 0600), passwords included; the default is standard "
                     "output, without passwords")
        ->type_name("FILE");
    command->add_flag("--force", import_.force, "With --output: replace an existing file");
    command->add_flag("--allow-lossy", import_.allow_lossy,
                      "Write a configuration even if some properties are refused, without them");
    AddSettingFlags(command, import_.config);
  }

  void AddExplain() {
    CLI::App* command =
        Add(app_, "explain",
            "Explain an error code, a doctor check, a metric, or an option of the configuration",
            [this] { return ExplainCommand(explain_); });
    command
        ->add_option("code", explain_.code,
                     "For example WR-2101, slot.retained, walrelay_leader, source.slot or kafka")
        ->type_name("SUBJECT");
    command->add_flag("--markdown", explain_.markdown, "Print all error codes as Markdown");
    command->add_flag("--checks", explain_.checks, "Print all doctor checks as Markdown");
    command->add_flag("--metrics", explain_.metrics, "Print all metrics as Markdown");
  }

  void AddVersion() {
    CLI::App* command = Add(app_, "version", "Print the versions of walrelay and its libraries",
                            [this] { return VersionCommand(version_json_); });
    command->add_flag("--json", version_json_, "Print JSON");
  }

  void AddHelp() {
    CLI::App* command = Add(app_, "help", "Show the help of a command", [this] { return Help(); });
    command->add_option("command", help_, "The command, for example: run, or config show")
        ->type_name("COMMAND");
  }

  // The same text as --help.
  ExitCode Help() {
    const CLI::App* command = &app_;
    std::string name = command->get_name();
    for (const std::string& word : help_) {
      const CLI::App* inner = Subcommand(*command, word);
      if (inner == nullptr) {
        return UsageError(UnknownCommand(*command, word));
      }
      command = inner;
      name += " " + command->get_name();
    }
    // The formatter and not help(), which would show the help of this command.
    fmt::print("{}",
               command->get_formatter()->make_help(command, name, CLI::AppFormatMode::Normal));
    return ExitCode::kOk;
  }

  void AddCompletion() {
    CLI::App* command =
        Add(app_, "completion",
            "Print the script by which a shell completes commands and flags. For bash: source "
            "<(walrelay completion bash)",
            [this] { return CompletionCommand(tree_, shell_); });
    command->add_option("shell", shell_, "The shell")
        ->type_name("SHELL")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  }

  // For packages: not listed by --help.
  void AddMan() {
    CLI::App* command =
        Add(app_, "man", "Print the manual page of a command, or write all pages to a folder",
            [this] { return ManCommand(tree_, man_); });
    command->group("");
    command->add_option("page", man_.page, "The name of the page: walrelay-run, walrelay.toml")
        ->type_name("PAGE");
    command->add_option("--directory", man_.directory, "Write all pages to this folder")
        ->type_name("FOLDER");
  }

  CLI::App app_{
      "walrelay publishes the outbox table of a Postgres database to Kafka, from the write-ahead "
      "log (WAL).",
      "walrelay"};
  // Set by the callback of the one command that the line names; require_subcommand() guarantees
  // that there is one.
  std::function<ExitCode()> chosen_;
  RunFlags run_;
  CheckFlags check_;
  DoctorFlags doctor_;
  StatusFlags status_;
  ResumeFlags resume_;
  RecoverFlags recover_;
  ProgressFlags progress_;
  ReloadFlags reload_;
  CLI::Option* accept_gap_ = nullptr;
  PrintFlags print_;
  VerifyFlags verify_;
  RepublishFlags republish_;
  PruneFlags prune_;
  DeadLettersFlags dead_letters_;
  InitFlags init_;
  SetupFlags setup_;
  DemoOptions demo_;
  ConfigCommandFlags config_;
  ImportFlags import_;
  ExplainFlags explain_;
  bool version_json_ = false;
  std::vector<std::string> help_;
  std::string shell_;
  ManFlags man_;
  // The definition as data, for the commands that print it.
  CommandTree tree_;
};

}  // namespace

int RunCommandLine(int argc, char** argv) {
  return CommandLine().Run(argc, argv);
}

}  // namespace walrelay
