// `walrelay status`: the status of the relay on this host, from its HTTP server; or, if no relay
// answers, the status of the slot and the tables, from Postgres and the progress record.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/system_clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/local_relays.h"
#include "http/http_client.h"
#include "postgres/catalog_queries.h"
#include "postgres/outbox_tables.h"
#include "postgres/session.h"
#include "postgres/slot_query.h"
#include "postgres/source_identity.h"
#include "postgres/table_survey.h"
#include "sinks/registry.h"
#include "slot/slot_risk_classifier.h"
#include "status/status_report.h"
#include "stream/progress_record.h"
#include "stream/record_cadence.h"
#include "walrelay/config.h"
#include "walrelay/version.h"

namespace walrelay {
namespace {

struct StatusFlags {
  ConfigFlags config;
  bool json = false;
  bool watch = false;  // repeat until interrupted
  std::string probe;   // "live" or "ready": report by exit code; "": show the status
};

void Declare(FlagSet& set, StatusFlags& flags) {
  AddConfigFlags(set, flags.config);
  set.Add("--json", flags.json, "Print JSON (proto/walrelay/admin/v1/status.proto)");
  set.Add("--watch", flags.watch, "Repeat every two seconds until interrupted");
  set.Add("--probe", flags.probe, "WHAT",
          "For a container health check: exit 0 if the relay is live or ready, 3 if it is not, 69 "
          "if it does not answer")
      .OneOf({"live", "ready"});
}

// For the HTTP request, and for each query.
constexpr std::chrono::seconds kRequestTimeout{5};
constexpr std::chrono::seconds kWatchInterval{2};
// For the progress record: a report says what is unknown, and does not wait until Kafka answers.
constexpr std::chrono::seconds kRecordPatience{3};
// A relay on another host confirms WAL of other tables this late.
constexpr Micros kConfirmPatience = RecordCadence::kPositionInterval + std::chrono::seconds(2);

absl::StatusOr<HttpAnswer> Get(const Config& config, std::string_view path) {
  if (config.http.listen.empty()) {
    return Error(ErrorCode::kRelaySilent, "http.listen is empty: the relay has no HTTP server");
  }
  return HttpGet(config.http.listen, path, kRequestTimeout);
}

// Returns nullopt if the pipeline has no record. Closing a client may take longer than the command
// waits, so `sinks` closes it in the background.
absl::StatusOr<std::optional<Progress>> ReadRecord(const Config& config,
                                                   const std::string& database,
                                                   SinkFactory& sinks) {
  if (!config.pipeline.records_progress()) {
    return std::nullopt;
  }
  if (!config.has_brokers()) {
    return Error(ErrorCode::kConfigValue, "kafka.bootstrap_servers is not set");
  }
  WR_ASSIGN_OR_RETURN(
      const ProgressAddress address,
      ProgressAddressOf(config.source, config.pipeline, config.progress_topic(), database));
  auto reading = sinks.OpenProgress({.patience = kRecordPatience})->ReadExisting(address);
  if (HasCode(reading.status(), ErrorCode::kProgressMissing)) {
    return std::nullopt;
  }
  WR_RETURN_IF_ERROR(reading.status());
  if (reading->record) {
    ServerInfo server;  // only the names are known here
    server.database = database;
    WR_RETURN_IF_ERROR(CheckOwner(*reading->record, config.source, config.pipeline, server));
  }
  return std::move(reading->record);
}

absl::Status SurveyInto(StatusReport& report, PgConnection& connection, const Config& config,
                        SinkFactory& sinks) {
  WR_ASSIGN_OR_RETURN(
      const std::vector<TableInfo> tables,
      ReadTableInfo(connection, config.source.publication, config.source.tables, kRequestTimeout));
  const auto record = ReadRecord(config, connection.database(), sinks);
  report.record_failure = record.status();
  WR_ASSIGN_OR_RETURN(report.snapshot.tables, SurveyTables(connection, config.source, tables,
                                                           record.ok() ? *record : std::nullopt,
                                                           kConfirmPatience, kRequestTimeout));
  return absl::OkStatus();
}

// The report of a relay that does not answer: what the slot and the tables show.
absl::StatusOr<StatusReport> ReadFromPostgres(const Config& config, SinkFactory& sinks) {
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(config.source));
  WR_ASSIGN_OR_RETURN(SlotSample slot, ReadSlotSample(connection, config.source, kRequestTimeout));
  slot.risk = SlotRiskClassifier().Classify(slot);
  StatusReport report{.identity = {.version = std::string(Version()),
                                   .pipeline = IdentityOf(config.source),
                                   .publication = config.source.publication,
                                   .mode = config.pipeline.mode},
                      .now = SystemClock().WallNow(),
                      .relay_answered = false};
  report.snapshot.slot = std::move(slot);
  if (config.metrics.table_count_interval > Micros(0)) {
    WR_RETURN_IF_ERROR(SurveyInto(report, connection, config, sinks));
  }
  return report;
}

// A member of a JSON object, as JsonObject writes it.
std::string Member(std::string_view name, std::string_view value) {
  std::string out = fmt::format("\"{}\":", name);
  AppendJsonString(value, out);
  return out;
}

// Another relay may listen at the address, or another program. `status` is "/status.json" of what
// listens there. Nothing is known without a source in the configuration, as in a container's probe.
void WarnOfAnotherRelay(const Config& config, std::string_view status) {
  const PipelineIdentity identity = IdentityOf(config.source);
  const bool known = !config.source.dsn.empty() || !config.source.name.empty();
  if (known && (status.find(Member("source", identity.source)) == std::string_view::npos ||
                status.find(Member("slot_name", identity.slot)) == std::string_view::npos)) {
    fmt::print(stderr,
               "walrelay: warning: the relay at {} is not that of this configuration (source {}, "
               "slot {}). If both run on this host, set http.listen to the address of this one.\n",
               config.http.listen, Printable(identity.source), identity.slot);
  }
}

// Returns the text to show. The listener may be another user's, so its answer is escaped.
absl::StatusOr<std::string> FetchStatus(const Config& config, bool json, SinkFactory& sinks) {
  const auto answer = Get(config, json ? "/status.json" : "/status.txt");
  if (answer.ok() && answer->status == 200) {
    const auto other = json ? answer : Get(config, "/status.json");
    WarnOfAnotherRelay(config, other.ok() ? std::string_view(other->body) : "");
    return PrintableLines(answer->body);
  }
  // Only silence means that no relay runs here. Other errors, such as an invalid address, must not
  // be hidden by the state of the slot.
  if (!answer.ok() && !HasCode(answer.status(), ErrorCode::kRelaySilent)) {
    return answer.status();
  }
  if (config.source.dsn.empty()) {
    return answer.ok() ? Error(ErrorCode::kRelaySilent,
                               fmt::format("{} answers, but is not walrelay: HTTP {}",
                                           config.http.listen, answer->status))
                       : answer.status();
  }
  WR_ASSIGN_OR_RETURN(const StatusReport report, ReadFromPostgres(config, sinks));
  return json ? StatusJson(report) : StatusText(report);
}

void Show(std::string_view text, bool json, bool watch) {
  // Cursor movement and colour only on a terminal: a file or a pipe gets plain text.
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const bool colour = terminal && !json && std::getenv("NO_COLOR") == nullptr;
  // Moves the cursor to the top left and clears the screen.
  if (terminal && watch && !json) {
    fmt::print("\033[H\033[2J");
  }
  const size_t end = std::min(text.find('\n'), text.size());
  fmt::print("{}{}{}{}", colour ? "\033[1m" : "", text.substr(0, end), colour ? "\033[0m" : "",
             text.substr(end));
  // An empty line separates the reports. JSON reports are one line each.
  if (watch && !terminal && !json) {
    fmt::print("\n");
  }
  std::fflush(stdout);
}

// Without the fallback to Postgres: a probe asks about this process.
absl::StatusOr<ExitCode> Probe(const Config& config, const std::string& probe) {
  WR_ASSIGN_OR_RETURN(const HttpAnswer answer, Get(config, probe == "live" ? "/livez" : "/readyz"));
  const auto status = Get(config, "/status.json");
  WarnOfAnotherRelay(config, status.ok() ? std::string_view(status->body) : "");
  fmt::print("{}", PrintableLines(answer.body));
  return answer.status == 200 ? ExitCode::kOk : ExitCode::kProblemsFound;
}

absl::StatusOr<ExitCode> Execute(const StatusFlags& flags) {
  ConfigFlags config_flags = flags.config;
  // A probe in a container may have no DSN; without one the fallback is not available.
  config_flags.needs = {.postgres = false, .kafka = false};
  WR_ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadConfig(config_flags));
  if (!flags.probe.empty()) {
    return Probe(loaded.config, flags.probe);
  }
  // An error does not end --watch: the relay may be restarting.
  const auto sinks = MakeSinkFactory(loaded.config, {.close_in_background = true});
  while (true) {
    const auto text = FetchStatus(loaded.config, flags.json, *sinks);
    if (text.ok()) {
      Show(*text, flags.json, flags.watch);
    } else if (const ExitCode code = Report(text.status()); !flags.watch) {
      return code;
    }
    if (!flags.watch) {
      return ExitCode::kOk;
    }
    std::this_thread::sleep_for(kWatchInterval);
  }
}

}  // namespace

// 0 if a status was shown, otherwise the exit code of the error: 69 if neither the relay nor
// Postgres could be asked. With `probe`: 0 if the relay is live or ready, 3 if it is not, 69 if it
// does not answer. `watch` never returns, and an error does not end it: the relay may be
// restarting.
Command StatusCommand() {
  return MakeCommand<StatusFlags>(
      "status",
      "Show the status of the relay on this host and of its slot; without a running relay, of the "
      "slot and the tables, from Postgres and the progress record",
      Declare, Execute);
}

}  // namespace walrelay
