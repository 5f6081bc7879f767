// `walrelay check`: would it run? The configuration, then Postgres, the slot, the publication and
// the tables, then Kafka; one line each, with a remedy where something is wrong.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/preflight.h"
#include "kafka/cluster_facts.h"
#include "postgres/connection_parameters.h"
#include "postgres/facts.h"
#include "route/table_binding.h"
#include "txn/start_position.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kKafkaTimeout{5};

class Findings {
 public:
  void Good(std::string_view text) { Print("\033[32m✔\033[0m", "ok     ", text); }

  void Warn(std::string_view text, std::string_view remedy) {
    Print("\033[33m!\033[0m", "warning", text);
    fmt::print("          {}\n", remedy);
  }

  void Problem(const absl::Status& error) {
    const ErrorEntry& entry = Describe(CodeOf(error));
    Print("\033[31m✘\033[0m", "problem",
          fmt::format("{} {}: {}", ToString(entry.code), entry.title, MessageOf(error)));
    fmt::print("          {}\n", RemedyFor(error));
    worst_ = worst_.ok() ? error : worst_;
  }

  // 3 when there were problems; a Kafka or Postgres that is away is one too.
  ExitCode exit_code() const { return worst_.ok() ? ExitCode::kOk : ExitCode::kProblemsFound; }

 private:
  void Print(std::string_view mark, std::string_view word, std::string_view text) const {
    fmt::print("{} {}\n", terminal_ ? mark : word, text);
  }

  bool terminal_ = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  absl::Status worst_;
};

void CheckSettings(PgConnection& connection, const Config& config, Findings& out) {
  const Micros timeout = config.source.connect_timeout;
  const auto wal_level = ReadSetting(connection, "wal_level", timeout);
  if (wal_level.ok() && *wal_level != "logical") {
    out.Problem(Error(ErrorCode::kWalLevel, fmt::format("wal_level is {}", *wal_level)));
  }
  const auto keep = ReadSetting(connection, "max_slot_wal_keep_size", timeout);
  if (keep.ok() && *keep == "-1") {
    out.Warn(
        "max_slot_wal_keep_size is -1: a relay that is stopped for long can fill the server's disk",
        "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'; SELECT pg_reload_conf();  -- as the "
        "disk allows");
  }
  const auto standbys = ReadSetting(connection, "synchronous_standby_names", timeout);
  if (standbys.ok() && standbys->find('*') != std::string::npos) {
    out.Warn(
        fmt::format(
            "synchronous_standby_names = '{}' takes walrelay for a synchronous standby: with Kafka "
            "away, commits would wait for it",
            Printable(*standbys, 80)),
        "Name the real standbys there instead of '*'.");
  }
}

void CheckColumns(PgConnection& connection, const Config& config, const TableFacts& table,
                  const OutboxTable& mapping, Findings& out) {
  const auto relation = ReadRelation(connection, table, config.source.connect_timeout);
  if (!relation.ok()) {
    out.Problem(relation.status());
    return;
  }
  const TableBinding binding = BindTable(*relation, mapping,
                                         {.route = config.route,
                                          .format = config.format,
                                          .missing_columns = config.source.missing_columns,
                                          .facts = &table});
  if (!binding.status.ok()) {
    out.Problem(binding.status);
    return;
  }
  const auto name = [&](const BoundColumn& column) {
    return column.present() ? relation->columns[static_cast<size_t>(column.index)].name
                            : std::string("-");
  };
  out.Good(fmt::format(
      "table {}.{}: topic from {}, key from {}, value from {}, headers from {}, {}, {}",
      table.schema, table.name, name(binding.aggregate_type), name(binding.aggregate_id),
      name(binding.payload), name(binding.id), name(binding.event_type), name(binding.trace_id)));
  if (table.column_list) {
    out.Warn(
        fmt::format("table {}.{} is published with a column list", table.schema, table.name),
        "Columns outside of the list do not reach walrelay; make sure that those above are in it.");
  }
}

void CheckStart(const SourceFacts& facts, const Config& config, Findings& out) {
  if (facts.slot && facts.slot->active) {
    out.Warn(
        fmt::format("slot {} is in use by server process {}: an instance started now stands by",
                    config.source.slot, facts.slot->active_pid),
        "Nothing, if that is a walrelay of yours.");
  }
  const auto decision = DecideStart(std::nullopt, facts);
  if (!decision.ok()) {
    out.Problem(decision.status());
    return;
  }
  out.Good(fmt::format("slot {}: confirmed up to {}, {} behind the log's end", config.source.slot,
                       decision->position.ToString(),
                       HumanBytes(BytesBetween(decision->position, facts.server.wal_end))));
}

absl::Status CheckPostgres(const Config& config, Findings& out) {
  const Micros timeout = config.source.connect_timeout;
  WR_ASSIGN_OR_RETURN(const ConnectionParameters parameters,
                      MakeConnectionParameters(config.source, ConnectionPurpose::kReplication));
  WR_ASSIGN_OR_RETURN(PgConnection connection, PgConnection::Connect(parameters, timeout, -1));
  SourceFacts facts;
  WR_ASSIGN_OR_RETURN(facts.server, ReadServerFacts(connection, timeout));
  out.Good(fmt::format("Postgres {}: version {}.{}, system {}, timeline {}",
                       DescribeDsn(config.source), facts.server.version / 10000,
                       facts.server.version % 10000, facts.server.system_id,
                       facts.server.timeline));
  CheckSettings(connection, config, out);
  WR_ASSIGN_OR_RETURN(facts.publication,
                      ReadPublicationFacts(connection, config.source.publication, timeout));
  WR_ASSIGN_OR_RETURN(facts.tables, ReadTableFacts(connection, config.source.publication,
                                                   config.source.tables, timeout));
  const auto problems = PublicationProblems(facts, config.source.publication);
  for (const absl::Status& problem : problems) {
    out.Problem(problem);
  }
  if (problems.empty()) {
    out.Good(fmt::format("publication {} publishes the inserts of {} outbox table{}",
                         config.source.publication, facts.tables.size(),
                         facts.tables.size() == 1 ? "" : "s"));
  }
  for (size_t i = 0; i < facts.tables.size(); ++i) {
    if (facts.tables[i].oid != 0) {
      CheckColumns(connection, config, facts.tables[i], config.source.tables[i], out);
    }
  }
  WR_ASSIGN_OR_RETURN(facts.slot, ReadSlotFacts(connection, config.source.slot, timeout));
  CheckStart(facts, config, out);
  return absl::OkStatus();
}

absl::Status CheckKafka(const Config& config, Findings& out) {
  const std::string& dead_letters = config.on_error.dead_letter_topic;
  WR_ASSIGN_OR_RETURN(const ClusterFacts facts,
                      ReadClusterFacts(config.kafka, dead_letters, kKafkaTimeout));
  out.Good(fmt::format("Kafka: {} broker{}, cluster {}", facts.brokers.size(),
                       facts.brokers.size() == 1 ? "" : "s",
                       facts.cluster_id.empty() ? "without an id" : facts.cluster_id));
  if (!dead_letters.empty() && !facts.topic_exists) {
    out.Warn(fmt::format("the dead-letter topic {} does not exist", dead_letters),
             "Create it, unless the brokers create topics on demand.");
  }
  return absl::OkStatus();
}

}  // namespace

ExitCode CheckCommand(const CheckFlags& flags) {
  const auto loaded = LoadConfig(flags.config);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  if (const absl::Status offline = CheckOffline(loaded->config); !offline.ok()) {
    return Report(offline);
  }
  Findings findings;
  findings.Good("the configuration is complete and consistent");
  if (flags.offline) {
    return ExitCode::kOk;
  }
  for (const auto& check : {CheckPostgres, CheckKafka}) {
    if (const absl::Status status = check(loaded->config, findings); !status.ok()) {
      findings.Problem(status);
    }
  }
  return findings.exit_code();
}

}  // namespace walrelay
