#include "dryrun/dry_run.h"

#include <fmt/format.h>

#include <thread>

#include "base/system_clock.h"
#include "metrics/metrics.h"
#include "postgres/catalog_queries.h"
#include "postgres/connection_parameters.h"
#include "postgres/quote.h"
#include "postgres/session.h"
#include "postgres/temporary_slot.h"
#include "relay/pipeline.h"
#include "stream/start_position.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Bounds the memory for one query's result. The function always completes a transaction, so a large
// transaction exceeds it.
constexpr size_t kMessagesAtOnce = 1000;
constexpr std::chrono::seconds kSelectTimeout{15};
constexpr std::chrono::milliseconds kPollInterval{200};

// The relay's pipeline with a different producer.
class DryRunStream {
 public:
  DryRunStream(const Config& config, Router router, Producer& producer)
      : producer_(producer),
        metrics_(registry_, IdentityOf(config.source)),
        sender_(producer, tracker_, metrics_, [this](const Delivery&, WallTime) { ++records_; }),
        pipeline_(config, std::move(router), tracker_, sender_, metrics_) {}

  void Start(std::span<const TableInfo> tables) { pipeline_.StartSession(tables); }
  uint64_t records() const { return records_; }

  absl::Status Handle(std::string_view message) {
    const auto outcome = pipeline_.Handle({.sent = {}, .payload = message});
    // What would block the relay ends the command with the name of the row.
    if (const auto& row = pipeline_.blocked_row(); !outcome.ok() && row) {
      return Annotate(outcome.status(), fmt::format("the relay would be blocked by row {} of {}",
                                                    row->row, row->table));
    }
    WR_RETURN_IF_ERROR(outcome.status());
    // Every record is acknowledged at once, so the window never fills up.
    producer_.Poll(sender_);
    return absl::OkStatus();
  }

 private:
  Producer& producer_;
  AckTracker tracker_;
  MetricsRegistry registry_;
  Metrics metrics_;
  RecordSender sender_;
  Pipeline pipeline_;
  uint64_t records_ = 0;
};

// Reports the publication problems that would keep the relay from starting. If the publication hid
// rows, nothing would be printed, without a reason.
absl::Status CheckPublished(PgConnection& connection, const Config& config,
                            std::span<const TableInfo> tables) {
  const SourceConfig& source = config.source;
  WR_RETURN_IF_ERROR(CheckMessages(source, connection.server_version_num()));
  SourceInfo info;
  info.tables.assign(tables.begin(), tables.end());
  WR_ASSIGN_OR_RETURN(info.publication,
                      ReadPublicationInfo(connection, source.publication, source.connect_timeout));
  const auto problems = PublicationProblems(info, source.publication);
  return problems.empty() ? absl::OkStatus() : problems.front();
}

// Rows are read from their tables, which must exist, published or not.
absl::Status CheckTables(std::span<const TableInfo> tables) {
  for (const TableInfo& table : tables) {
    if (table.oid == 0 && !table.name.empty()) {
      return Error(ErrorCode::kTableMissing, fmt::format("{}.{}", table.schema, table.name));
    }
  }
  return absl::OkStatus();
}

std::string ListOf(const std::vector<std::string>& texts, std::string (*quote)(std::string_view)) {
  std::string list;
  for (const std::string& text : texts) {
    list += (list.empty() ? "" : ", ") + quote(text);
  }
  return list;
}

// Values have the same text format as in the stream: that of the type's output function.
absl::StatusOr<PgResult> SelectRows(PgConnection& connection, const OutboxTable& table,
                                    const pgoutput::CachedRelation& relation,
                                    const DryRunScope& scope) {
  std::vector<std::string> columns;
  for (const auto& column : relation.columns) {
    columns.push_back(column.name);
  }
  // Compared as text: the column's type is the user's choice, and the ids come from a command line.
  const std::string id = table.columns.id.value_or("id");
  auto rows = connection.Query(
      fmt::format("SELECT {} FROM {}.{} WHERE {}::pg_catalog.text OPERATOR(pg_catalog.=) "
                  "ANY (ARRAY[{}]::pg_catalog.text[])",
                  ListOf(columns, QuoteIdentifier), QuoteIdentifier(relation.schema),
                  QuoteIdentifier(relation.name), QuoteIdentifier(id),
                  ListOf(scope.ids, QuoteLiteral)),
      kSelectTimeout);
  // insufficient_privilege. With row_security = off, which the session sets, Postgres returns this
  // error instead of hiding rows by a policy.
  if (!rows.ok() && connection.last_sqlstate() == "42501") {
    return Error(
        ErrorCode::kPostgresError, MessageOf(rows.status()),
        fmt::format("Use a role that can read the whole table: GRANT SELECT ON {}.{} TO {}; "
                    "with row-level security the role also needs BYPASSRLS.",
                    QuoteIdentifier(relation.schema), QuoteIdentifier(relation.name),
                    QuoteIdentifier(connection.user())));
  }
  return rows;
}

std::vector<pgoutput::TupleValue> TupleOf(const PgResult& rows, int row, size_t columns) {
  std::vector<pgoutput::TupleValue> tuple(columns);
  for (size_t column = 0; column < columns; ++column) {
    if (const auto value = rows.At(row, static_cast<int>(column))) {
      tuple[column] = {.kind = pgoutput::TupleValue::Kind::kText, .bytes = *value};
    }
  }
  return tuple;
}

// Reads rows from their tables. Their commit time is unknown; the current time is used.
absl::StatusOr<uint64_t> DryRunRows(PgConnection& connection, const Config& config,
                                    std::span<const TableInfo> tables, Router router,
                                    const DryRunScope& scope, Producer& producer) {
  uint64_t records = 0;
  router.StartSession(tables);
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].oid == 0) {
      continue;
    }
    WR_ASSIGN_OR_RETURN(const pgoutput::CachedRelation relation,
                        ReadRelation(connection, tables[i], kSelectTimeout));
    router.OnRelation(relation);
    WR_ASSIGN_OR_RETURN(const PgResult rows,
                        SelectRows(connection, config.source.tables[i], relation, scope));
    for (int row = 0; row < rows.rows(); ++row) {
      const auto tuple = TupleOf(rows, row, relation.columns.size());
      WR_ASSIGN_OR_RETURN(const Record record,
                          router.Route(relation.oid, tuple, SystemClock().WallNow()));
      WR_RETURN_IF_ERROR(producer.Produce(record, DeliveryToken()).status());
      ++records;
    }
  }
  return records;
}

absl::StatusOr<uint64_t> DryRunSlot(PgConnection connection, const Config& config,
                                    std::span<const TableInfo> tables, Router router,
                                    const DryRunScope& scope, Producer& producer) {
  DryRunStream stream(config, std::move(router), producer);
  stream.Start(tables);
  WR_ASSIGN_OR_RETURN(TemporarySlot slot,
                      scope.follow ? TemporarySlot::FromNow(std::move(connection), config.source)
                                   : TemporarySlot::OfSlot(std::move(connection), config.source));
  // Polls, because the SQL functions of logical decoding do not wait for new WAL.
  while (true) {
    WR_ASSIGN_OR_RETURN(const std::vector<std::string> messages, slot.Next(kMessagesAtOnce));
    for (const std::string& message : messages) {
      WR_RETURN_IF_ERROR(stream.Handle(message));
      if (scope.limit > 0 && stream.records() >= scope.limit) {
        return stream.records();
      }
    }
    const bool all = messages.empty() && !scope.follow;
    if (all || (scope.stop_condition && scope.stop_condition())) {
      return stream.records();
    }
    if (messages.empty()) {
      std::this_thread::sleep_for(kPollInterval);
    }
  }
}

}  // namespace

absl::StatusOr<uint64_t> DryRun(const Config& config, const DryRunScope& scope,
                                Producer& producer) {
  // No run id: it differs at each start, and the comparison ignores this header.
  WR_ASSIGN_OR_RETURN(Router router, Router::Create(config.source, config.route, config.format, "",
                                                    RowLimits::For(config.kafka.max_record_bytes)));
  WR_RETURN_IF_ERROR(CheckPostgresTransport(config.source));
  WR_ASSIGN_OR_RETURN(PgConnection connection, ConnectTo(config.source));
  WR_ASSIGN_OR_RETURN(const std::vector<TableInfo> tables,
                      ReadTableInfo(connection, config.source.publication, config.source.tables,
                                    config.source.connect_timeout));
  WR_RETURN_IF_ERROR(scope.ids.empty() ? CheckPublished(connection, config, tables)
                                       : CheckTables(tables));
  return scope.ids.empty()
             ? DryRunSlot(std::move(connection), config, tables, std::move(router), scope, producer)
             : DryRunRows(connection, config, tables, std::move(router), scope, producer);
}

}  // namespace walrelay
