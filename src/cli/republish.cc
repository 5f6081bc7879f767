// `walrelay republish`: publishes rows of the outbox tables again.

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/progress_writer.h"
#include "cli/row_run.h"
#include "cli/time_flag.h"
#include "postgres/catalog_queries.h"
#include "postgres/connection_parameters.h"
#include "postgres/row_reader.h"
#include "postgres/session.h"
#include "publish/row_publisher.h"
#include "republish/republish_sink.h"
#include "route/topic_name.h"
#include "sinks/registry.h"
#include "stream/first_xid.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

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

void DeclareRows(FlagSet& set, RepublishFlags& flags) {
  RowSelection& rows = flags.selection;
  set.Add("--id", rows.ids, "ID", "The row with this id (repeatable)");
  set.Add("--after-id", rows.after_id, "ID", "Rows with a greater id");
  set.Add("--key", rows.key, "KEY", "Rows with this aggregate id");
  set.Add("--since", flags.since, "TIME",
          "Rows of this time and later, as in 2026-11-20T08:00:00Z");
  set.Add("--until", flags.until, "TIME", "Rows before this time");
  set.Add("--time-column", rows.time_column, "NAME",
          "The column that --since and --until refer to (default: route.timestamp_column, else "
          "created_at, else the commit time)");
  set.Add("--after-lsn", flags.after_lsn, "LSN",
          "Rows that committed at this position or later, and some that committed shortly before, "
          "by the progress record");
  set.Add("--all", flags.all, "Every row of the table");
  set.Add("--limit", rows.limit, "N", "At most this many of the selected rows");
  set.Add("--order-by", rows.order_by, "NAME",
          "Publish in the order of this column (default: commit time if the server records it, "
          "else a numeric id, else transaction id)");
}

void Declare(FlagSet& set, RepublishFlags& flags) {
  AddConfigFlags(set, flags.config);
  DeclareRows(set, flags);
  set.Add("--topic", flags.topic, "NAME", "Publish to this topic (default: the rows')");
  set.Add(
      "--header", flags.header, "NAME",
      "The name of the header, whose value is the time of the run (default: walrelay.republished)");
  set.Add("--rate", flags.rate, "N", "Publish at most this many rows per second")
      .Between(1, 1'000'000);
  AddAcceptDeletionFlag(set, flags.accept_deletion);
  set.Add("--dry-run", flags.dry_run,
          "Print the records instead, and their number; do not connect to Kafka, except for "
          "--after-lsn");
  set.Add("--json", flags.json, "With --dry-run: print one JSON object per line")
      .Needs("--dry-run");
}

constexpr std::chrono::seconds kCatalogTimeout{15};

std::string_view Describe(RowOrder order) {
  switch (order) {
    case RowOrder::kColumn:
      return "the named column";
    case RowOrder::kCommitTime:
      return "commit time";
    case RowOrder::kId:
      return "the id column, which is not always the order of the commits";
    case RowOrder::kXid:
      break;
  }
  return "transaction id, which is not always the order of the commits";
}

// From a position to xids, with the horizons of the progress record.
absl::StatusOr<uint64_t> XidAfter(const Config& config, SinkFactory& sinks,
                                  const std::string& text) {
  const auto lsn = Lsn::Parse(text);
  if (!lsn || !lsn->valid()) {
    return Error(ErrorCode::kUsage,
                 fmt::format("--after-lsn: invalid; expected a position such as 16/B374D848, got "
                             "\"{}\"",
                             Printable(text, 60)));
  }
  WR_ASSIGN_OR_RETURN(const ProgressAddress address, ProgressAddressFor(config));
  WR_ASSIGN_OR_RETURN(const ProgressReading reading, sinks.OpenProgress({})->ReadExisting(address));
  const std::optional<Progress>& record = reading.record;
  WR_ASSIGN_OR_RETURN(PgConnection connection,
                      ConnectTo(config.source, ConnectionPurpose::kReplication));
  WR_ASSIGN_OR_RETURN(const ServerInfo server, ReadServerInfo(connection, kCatalogTimeout));
  const auto xid = record ? FirstXidAfter(*record, server, *lsn) : std::nullopt;
  return xid ? absl::StatusOr<uint64_t>(*xid)
             : Error(ErrorCode::kUsage,
                     fmt::format("--after-lsn {}: the progress record does not show which "
                                 "transactions of this server committed before",
                                 lsn->ToString()),
                     "walrelay progress show lists the positions that it knows. Select by --since, "
                     "--after-id or --id instead.");
}

absl::StatusOr<RowSelection> SelectionOf(const RepublishFlags& flags, const Config& config,
                                         SinkFactory& sinks) {
  RowSelection selection = flags.selection;
  WR_ASSIGN_OR_RETURN(selection.since, ParseTimeFlag("--since", flags.since));
  WR_ASSIGN_OR_RETURN(selection.until, ParseTimeFlag("--until", flags.until));
  if (!flags.after_lsn.empty()) {
    WR_ASSIGN_OR_RETURN(selection.xid_from, XidAfter(config, sinks, flags.after_lsn));
  }
  if (selection.selects_all() != flags.all) {
    return flags.all ? Error(ErrorCode::kUsage, "--all excludes every other selection of rows")
                     : Error(ErrorCode::kUsage, "no rows are selected",
                             "Select rows with --id, --after-id, --key, --since, --until or "
                             "--after-lsn; --all selects every row.");
  }
  if (const absl::Status topic =
          CheckRowTopic(flags.topic, ReservedTopics(config.progress_topic(), config.on_error));
      !flags.topic.empty() && !topic.ok()) {
    return Error(ErrorCode::kUsage, fmt::format("--topic: {}", MessageOf(topic)));
  }
  return selection;
}

// Routes the rows and publishes none. A row that cannot be routed is reported when it is published.
absl::StatusOr<RecordAges> ReadAges(const Config& config, const RepublishFlags& flags,
                                    RowSelection selection, const Clock& clock) {
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(config.source));
  WR_ASSIGN_OR_RETURN(RowReader reader, RowReader::Open(std::move(connection), config.source,
                                                        config.route, std::move(selection)));
  RecordAges ages;
  RowPublisher::Options options;
  options.policy = [](const absl::Status&) { return OnError::kSkip; };
  options.filter = [&](const OutboxRow&, const Record& record) {
    ages.Note(flags.topic.empty() ? record.topic : flags.topic, record.timestamp);
    return false;
  };
  options.on_refused = [](const RowPublisher::Refusal&) {};
  WR_ASSIGN_OR_RETURN(
      const auto publisher,
      RowPublisher::Create(config, PrintingSinks(/*json=*/false), clock, std::move(options)));
  publisher->UseTables(reader.tables(), reader.relations());
  while (true) {
    WR_ASSIGN_OR_RETURN(const auto row, reader.Next());
    if (!row) {
      break;
    }
    WR_RETURN_IF_ERROR(publisher->Publish(*row));
  }
  WR_RETURN_IF_ERROR(publisher->Finish());
  return ages;
}

absl::Status Republish(const Config& config, const RepublishFlags& flags) {
  const auto sinks = MakeSinkFactory(config);
  WR_ASSIGN_OR_RETURN(RowSelection selection, SelectionOf(flags, config, *sinks));
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(config.source));
  const size_t ids = selection.ids.size();
  const RowSelection selected = selection;
  WR_ASSIGN_OR_RETURN(RowReader reader, RowReader::Open(std::move(connection), config.source,
                                                        config.route, std::move(selection)));
  WR_ASSIGN_OR_RETURN(const uint64_t rows, reader.Count());
  const SystemClock clock;
  const std::string run = Rfc3339(clock.WallNow());
  if (ids > 0) {
    fmt::print(stderr, "{} of {} ids found\n", rows, ids);
  }
  if (reader.origins_unknown() && rows > 0) {
    fmt::print(stderr,
               "walrelay: warning: the tables do not show which rows have another origin: "
               "source.origin \"none\" does not apply to these rows\n");
  }
  if (const auto order = reader.order(); order && rows > 0) {
    fmt::print(stderr, "{} row{} to {} {}, in the order of {}; header {}: {}\n", rows,
               rows == 1 ? "" : "s", flags.dry_run ? "print for" : "publish to",
               flags.topic.empty() ? "their topics" : "topic " + flags.topic, Describe(*order),
               flags.header, run);
  }
  if (!flags.dry_run) {
    WR_RETURN_IF_ERROR(CheckDeletion(config.route, *sinks, flags.accept_deletion, clock,
                                     [&] { return ReadAges(config, flags, selected, clock); }));
  }
  RowRun progress(rows);
  RowPublisher::Options options = progress.options();
  options.headers = {{flags.header, run}};
  options.topic = flags.topic;
  options.rows_per_second = flags.dry_run ? 0 : flags.rate;
  WR_ASSIGN_OR_RETURN(
      const auto publisher,
      RowPublisher::Create(config,
                           flags.dry_run ? PrintingSinks(flags.json) : RepublishSinks(*sinks),
                           clock, std::move(options)));
  WR_CHECK(publisher->UseTables(reader.tables(), reader.relations()),
           "the reader reads configured tables");
  const absl::Status result = progress.Publish(*publisher, [&] { return reader.Next(); });
  fmt::print(flags.dry_run ? stderr : stdout, "{}: {}\n",
             flags.dry_run ? "nothing was sent; the run would be" : "republished",
             Describe(publisher->counts()));
  return result;
}

absl::StatusOr<ExitCode> Execute(const RepublishFlags& flags) {
  ConfigFlags config_flags = ForChange(flags.config, !flags.dry_run);
  // Nothing is sent: the brokers need not be configured.
  config_flags.needs.kafka = !flags.dry_run || !flags.after_lsn.empty();
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadCheckedConfig(config_flags));
  WR_RETURN_IF_ERROR(Republish(loaded.config, flags));
  return ExitCode::kOk;
}

}  // namespace

// Publishes rows with the producer's settings of the relay, which may run beside it. A row that
// blocks ends the run with its error: rows before it are published then. 64 without a selection.
// The snapshot of the rows is open until the end.
Command RepublishCommand() {
  return MakeCommand<RepublishFlags>(
      "republish",
      "Publish rows of the outbox table again, with a header that marks them. The relay may run "
      "meanwhile: consumers may see such an event after later ones of its key",
      Declare, Execute);
}

}  // namespace walrelay
