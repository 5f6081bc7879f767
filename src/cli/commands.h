// The commands: one function and one source file each. Each returns the exit code of the process
// and has printed the reason: results to standard output, everything else to standard error.
//
// All run on the main thread and block until the command has ended. Each loads the configuration
// itself, with the addresses that it needs (ConfigNeeds). An error is printed by Report(), which
// also determines the exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_tree.h"
#include "cli/config_flags.h"
#include "demo/demo.h"
#include "dryrun/dry_run.h"
#include "postgres/row_query.h"
#include "walrelay/error.h"

namespace walrelay {

// The flags of each command, as the command line gives them: names and formats are checked there,
// values that depend on the configuration by the command.
struct RunFlags {
  ConfigFlags config;
  std::string config_dir;  // one pipeline per file of this directory; "": one pipeline
  // The format in which each acknowledged event is printed to standard output: "" (not printed),
  // "text" or "json". Keys and headers, never payloads.
  std::string events;
};
// Runs until SIGTERM, SIGINT or, with a single pipeline, an error that ends the relay. With
// several, the invalid ones do not run; 78 if none is valid. 0 after a complete drain, 75 after a
// second signal, 4 for a gap with source.on_gap = "exit". Several run in a worker process, which is
// started again after an internal error; 70 if that does not help. If Kafka clients do not close
// within three seconds, the process ends without destructors.
ExitCode RunCommand(const RunFlags& flags);

// `offline`: neither Postgres nor Kafka is contacted.
struct CheckFlags {
  ConfigFlags config;
  std::string config_dir;  // check each file of this directory; "": one configuration
  bool offline = false;
};
// 0 if `run` would start, warnings included; 3 if a check found a problem; 78 for an invalid
// configuration.
ExitCode CheckCommand(const CheckFlags& flags);

// `json`: nothing is printed before the diagnosis is complete.
struct DoctorFlags {
  ConfigFlags config;
  bool json = false;
  std::string fail_on = "problem";  // or "warning": the minimum severity for exit code 3
  std::string write_probe;          // the topic to write a record to; "": none
};
// 3 if the worst finding has at least the severity `fail_on`. Writes only with `write_probe`.
ExitCode DoctorCommand(const DoctorFlags& flags);

struct StatusFlags {
  ConfigFlags config;
  bool json = false;
  bool watch = false;  // repeat until interrupted
  std::string probe;   // "live" or "ready": report by exit code; "": show the status
};
// 0 if a status was shown, otherwise the exit code of the error: 69 if neither the relay nor
// Postgres could be asked. With `probe`: 0 if the relay is live or ready, 3 if it is not, 69 if it
// does not answer. `watch` never returns, and an error does not end it: the relay may be
// restarting.
ExitCode StatusCommand(const StatusFlags& flags);

struct ResumeFlags {
  ConfigFlags config;
  bool accept = false;
  std::string gap;  // the gap to accept; "": the gap that is shown
};
// Uses the control sockets of the relays of this user on this host; no HTTP. 0: no gap is held, or
// it was accepted; 3: a gap is held, or another problem must be fixed first; 69: no relay answers.
// After an acceptance it waits up to 30 seconds for the relay's next check of the source.
ExitCode ResumeCommand(const ResumeFlags& flags);

// Times as in RFC 3339; "": not given.
struct RecoverFlags {
  ConfigFlags config;
  std::string apply;  // the id of a plan; "": print the plan
  bool json = false;
  std::string since;
  std::string time_column;
  std::string after_id;
  bool all = false;
  std::string dedupe = "tail";  // or "none"
  std::string compare_since;
  std::string order_by;
  uint64_t max_rows = 0;
  bool accept_deletion = false;
  bool failover = false;
  bool upgraded = false;
};
// Returns 0 if there is nothing to do, or the plan was printed or executed. 3: the plan has changed
// since `apply`, has more rows than `max_rows`, or has records that Kafka would delete at once and
// `accept_deletion` is not set; it is printed. 4: nothing shows which rows are published. 5: a row
// cannot be published. Nothing is changed unless `apply` is the plan of now. Blocks until every row
// is acknowledged; may be killed at any time, and run again.
ExitCode RecoverCommand(const RecoverFlags& flags);

struct PruneFlags {
  ConfigFlags config;
  bool apply = false;
  bool older_rows_published = false;
  bool json = false;
};
// One pass over the outbox tables as [prune] says, or what it would change. Asks the relay of the
// slot on this host for the proof. 0: complete; 3: a partition could not be created or dropped; 69:
// no relay runs on this host; WR-2323 if it has no proof.
ExitCode PruneCommand(const PruneFlags& flags);

struct ProgressFlags {
  ConfigFlags config;
  bool json = false;   // show
  std::string lsn;     // set: the new frontier
  bool force = false;  // init: replace a record; set: accept positions at which the relay holds
};
// 0 if a record was shown, 3 if there is none.
ExitCode ProgressShowCommand(const ProgressFlags& flags);
// Both write one record, to Kafka only: the slot is not changed. 64 if `force` is needed, 69 if a
// relay reads the slot. The last check of the slot and the write are not atomic: a relay that
// starts in between may use the old record.
ExitCode ProgressInitCommand(const ProgressFlags& flags);
ExitCode ProgressSetCommand(const ProgressFlags& flags);

struct ReloadFlags {
  ConfigFlags config;  // only `file` is used
  std::string config_dir;
};
// Uses the control sockets of the processes of this user on this host. 0: the configuration was
// applied; 78: a part of it is invalid; 69: no process answers.
ExitCode ReloadCommand(const ReloadFlags& flags);

struct PrintFlags {
  ConfigFlags config;
  bool json = false;
  DryRunScope scope;
};
// Needs no Kafka address. Does not advance the slot. Rows that were not found are no error; their
// number is printed to standard error.
ExitCode PrintCommand(const PrintFlags& flags);

struct VerifyFlags {
  ConfigFlags config;
  DryRunScope scope{.limit = 1000};  // given rows, or from now on; never from the slot's position
  int seconds = 60;                  // how long to collect events
  int timeout = 30;                  // how long to wait for the last record, seconds
};
// 0 if all records are equal, 3 if at least one differs or is missing. Blocks for `seconds` plus
// `timeout` and the time that Kafka takes. Timestamps are not compared for given rows, whose commit
// time is unknown, unless a column determines them.
ExitCode VerifyCommand(const VerifyFlags& flags);

struct RepublishFlags {
  ConfigFlags config;
  RowSelection selection;  // without its times and xids: see below
  std::string since;       // RFC 3339; "": no limit
  std::string until;
  std::string after_lsn;  // "": no limit
  bool all = false;       // every row; required if nothing else selects rows
  std::string topic;      // "": the topics of the rows
  std::string header = "walrelay.republished";
  uint64_t rate = 0;  // rows per second; 0: no limit
  bool accept_deletion = false;
  bool dry_run = false;
  bool json = false;  // of dry_run
};
// Publishes rows with the producer's settings of the relay, which may run beside it. A row that
// blocks ends the run with its error: rows before it are published then. 64 without a selection.
// The snapshot of the rows is open until the end.
ExitCode RepublishCommand(const RepublishFlags& flags);

struct DeadLettersFlags {
  ConfigFlags config;
  bool json = false;
  std::vector<std::string> codes;  // list, retry: with one of these codes
  uint64_t limit = 0;              // list; 0: no limit
  bool open = false;               // list: only those that were not retried
  std::string show;                // show: the id
  std::vector<std::string> ids;    // retry
  bool all = false;                // retry
  bool again = false;              // retry: also those that were retried before
  bool trust_topic = false;        // retry: publish the letters' rows, not those of the tables
  bool accept_deletion = false;    // retry: also records that Kafka would delete at once
  bool dry_run = false;            // retry
};
// All three read the topic for dead letters as it is now, and need the configuration of the
// pipeline that wrote it. `show`: 3 if there is no such letter. `retry`: 3 if a letter failed again
// or cannot be retried; 64 without a selection.
ExitCode DeadLettersListCommand(const DeadLettersFlags& flags);
ExitCode DeadLettersShowCommand(const DeadLettersFlags& flags);
ExitCode DeadLettersRetryCommand(const DeadLettersFlags& flags);

// `role`: the role to create for walrelay; "": none. `password_file`: the file with its password;
// "": none. `platform`: a name of postgres/platform.h; "": found by the roles of the server, or a
// server of the operator's own.
struct SetupFlags {
  ConfigFlags config;
  bool apply = false;
  bool create_table = false;
  bool failover = false;
  bool password_stdin = false;
  std::string role;
  std::string password_file;
  std::string platform;
  std::string partitioned;  // the name of a PartitionPeriod; "": not partitioned
};
// Without `apply` it prints the SQL and connects to nothing. With `apply` the steps run one by one,
// not in one transaction: Postgres cannot create a logical slot in a transaction that has written.
// The steps that succeeded remain after an error; a further run executes the missing ones. 77 if
// the role lacks a privilege for a step: the SQL of the missing steps is printed for an
// administrator, and what was executed is printed as comments, so that standard output is a valid
// script.
ExitCode SetupCommand(const SetupFlags& flags);

struct InitFlags {
  ConfigFlags config;  // `table` is unused
  std::string from_table;
  std::string output;  // "": standard output
  bool force = false;  // replace an existing output
};
// Reads the catalog only, no row. 65 for a table that cannot be an outbox; nothing is written then.
// The file gets mode 0600; a password of the DSN is not written.
ExitCode InitCommand(const InitFlags& flags);

ExitCode DemoCommand(const DemoOptions& options);

struct ConfigCommandFlags {
  ConfigFlags config;
};
// Secrets are masked. Fails like `run` for an invalid configuration.
ExitCode ConfigShowCommand(const ConfigCommandFlags& flags);
ExitCode ConfigDocsCommand();
ExitCode ConfigSchemaCommand();

struct ImportFlags {
  ConfigFlags config;  // settings that override the file; `file` is unused
  std::string file;    // "-": standard input
  std::string output;  // "": standard output, without secrets
  bool force = false;  // replace an existing output
  bool allow_lossy = false;
};
// The report goes to standard error, the TOML to standard output or to a file of mode 0600, which
// must not exist yet without `force`. 64 if it does; 65 if a property was refused (unless
// `allow_lossy` is set), or the result is not a valid configuration; nothing is written then.
ExitCode ImportDebeziumCommand(const ImportFlags& flags);

struct ExplainFlags {
  std::string code;       // an error code, a check, a metric, an option, a key or a section
  bool markdown = false;  // print all error codes instead
  bool metrics = false;   // print the reference of the metrics instead
  bool checks = false;    // print the reference of doctor's checks instead
};
// Needs no configuration. 64 for a name that has no explanation.
ExitCode ExplainCommand(const ExplainFlags& flags);

// The versions of libpq and librdkafka are those loaded at run time.
ExitCode VersionCommand(bool json);

// `shell`: one of kShells (completion.h).
ExitCode CompletionCommand(const CommandTree& tree, const std::string& shell);

struct ManFlags {
  std::string page;       // "walrelay-run"; "": walrelay
  std::string directory;  // write all pages to this folder instead, which must exist
};
// 64 for an unknown page, 70 if a file cannot be written. Existing files are replaced.
ExitCode ManCommand(const CommandTree& tree, const ManFlags& flags);

// Prints an error to standard error; returns its exit code.
// With meaning and remedy. REQUIRES: !error.ok().
ExitCode Report(const absl::Status& error);

}  // namespace walrelay
