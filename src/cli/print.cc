// `walrelay print`: what would be published, written to standard output. Postgres is only read, the
// slot stays where it is, and Kafka is not asked for.

#include <fmt/format.h>

#include <cstdio>
#include <thread>

#include "base/system_clock.h"
#include "cli/commands.h"
#include "cli/record_printer.h"
#include "doctor/preflight.h"
#include "metrics/metrics.h"
#include "postgres/connection_parameters.h"
#include "postgres/facts.h"
#include "postgres/quote.h"
#include "postgres/slot_copy.h"
#include "relay/pipeline.h"

namespace walrelay {
namespace {

constexpr size_t kMessagesAtOnce = 1000;
constexpr std::chrono::seconds kSelectPatience{15};
constexpr std::chrono::milliseconds kBetweenLooks{200};

// The relay's own way from a message to a record, with the printer in Kafka's place.
class Printing : public DeliverySink {
 public:
  Printing(const Config& config, Router router, bool json)
      : metrics_(config.source.slot),
        printer_(json),
        pipeline_(config, std::move(router), tracker_, metrics_) {}

  void Start(std::span<const TableFacts> tables) { pipeline_.StartSession(tables); }
  uint64_t printed() const { return printer_.printed(); }

  absl::Status Handle(std::string_view message) {
    const auto outcome = pipeline_.Handle({.sent = {}, .payload = message}, printer_);
    if (const auto& row = pipeline_.blocked_row(); !outcome.ok() && row) {
      return Annotate(outcome.status(), fmt::format("the relay would stop before the row {} of {}",
                                                    row->row, row->table));
    }
    WR_RETURN_IF_ERROR(outcome.status());
    printer_.Poll(*this);
    return absl::OkStatus();
  }

  void OnDelivered(const Delivery& delivery) override {
    tracker_.OnDelivered(delivery.token, delivery.bytes);
  }
  void OnFailed(DeliveryToken, const absl::Status&) override {}

 private:
  AckTracker tracker_;
  Metrics metrics_;
  RecordPrinter printer_;
  Pipeline pipeline_;
};

absl::StatusOr<PgConnection> Connect(const Config& config) {
  WR_RETURN_IF_ERROR(CheckPostgresTransport(config.source));
  WR_ASSIGN_OR_RETURN(const ConnectionParameters parameters,
                      MakeConnectionParameters(config.source, ConnectionPurpose::kSql));
  return PgConnection::Connect(parameters, config.source.connect_timeout, -1);
}

std::string ListOf(const std::vector<std::string>& texts, std::string (*quote)(std::string_view)) {
  std::string list;
  for (const std::string& text : texts) {
    list += (list.empty() ? "" : ", ") + quote(text);
  }
  return list;
}

// Results come as the stream has them: by each type's output function.
absl::StatusOr<PgResult> SelectRows(PgConnection& connection, const OutboxTable& table,
                                    const pgoutput::CachedRelation& relation,
                                    const PrintFlags& flags) {
  std::vector<std::string> columns;
  for (const auto& column : relation.columns) {
    columns.push_back(column.name);
  }
  const std::string id = table.columns.id.value_or("id");
  return connection.Query(
      fmt::format("SELECT {} FROM {}.{} WHERE {}::text IN ({})", ListOf(columns, QuoteIdentifier),
                  QuoteIdentifier(relation.schema), QuoteIdentifier(relation.name),
                  QuoteIdentifier(id), ListOf(flags.ids, QuoteLiteral)),
      kSelectPatience);
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

// Rows as they stand in their tables. When they were committed is not known there: it is now.
absl::Status PrintRows(PgConnection& connection, const Config& config,
                       std::span<const TableFacts> tables, Router router, const PrintFlags& flags) {
  RecordPrinter printer(flags.json);
  router.StartSession(tables);
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].oid == 0) {
      continue;
    }
    WR_ASSIGN_OR_RETURN(const pgoutput::CachedRelation relation,
                        ReadRelation(connection, tables[i], kSelectPatience));
    router.OnRelation(relation);
    WR_ASSIGN_OR_RETURN(const PgResult rows,
                        SelectRows(connection, config.source.tables[i], relation, flags));
    for (int row = 0; row < rows.rows(); ++row) {
      const auto tuple = TupleOf(rows, row, relation.columns.size());
      WR_ASSIGN_OR_RETURN(const Record record,
                          router.Route(relation.oid, tuple, SystemClock().WallNow()));
      WR_RETURN_IF_ERROR(printer.Produce(record, 0).status());
    }
  }
  fmt::print(stderr, "{} of {} rows found\n", printer.printed(), flags.ids.size());
  return absl::OkStatus();
}

absl::Status PrintSlot(PgConnection connection, const Config& config,
                       std::span<const TableFacts> tables, Router router, const PrintFlags& flags) {
  Printing printing(config, std::move(router), flags.json);
  printing.Start(tables);
  WR_ASSIGN_OR_RETURN(SlotCopy slot, flags.from_now
                                         ? SlotCopy::FromNow(std::move(connection), config.source)
                                         : SlotCopy::OfSlot(std::move(connection), config.source));
  if (flags.from_now) {
    fmt::print(stderr, "what is committed from now on; Ctrl-C ends it\n");
  }
  while (true) {
    WR_ASSIGN_OR_RETURN(const std::vector<std::string> messages, slot.Next(kMessagesAtOnce));
    for (const std::string& message : messages) {
      WR_RETURN_IF_ERROR(printing.Handle(message));
      if (flags.limit > 0 && printing.printed() >= flags.limit) {
        return absl::OkStatus();
      }
    }
    if (messages.empty()) {
      if (!flags.from_now) {
        return absl::OkStatus();
      }
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }
}

absl::Status Print(const Config& config, const PrintFlags& flags) {
  WR_RETURN_IF_ERROR(CheckOffline(config));
  WR_ASSIGN_OR_RETURN(Router router, Router::Create(config.source, config.route, config.format));
  WR_ASSIGN_OR_RETURN(PgConnection connection, Connect(config));
  WR_ASSIGN_OR_RETURN(const std::vector<TableFacts> tables,
                      ReadTableFacts(connection, config.source.publication, config.source.tables,
                                     config.source.connect_timeout));
  return flags.ids.empty()
             ? PrintSlot(std::move(connection), config, tables, std::move(router), flags)
             : PrintRows(connection, config, tables, std::move(router), flags);
}

}  // namespace

ExitCode PrintCommand(const PrintFlags& flags) {
  ConfigFlags config_flags = flags.config;
  config_flags.needs.kafka = false;
  const auto loaded = LoadConfig(config_flags);
  if (!loaded.ok()) {
    return Report(loaded.status());
  }
  const absl::Status status = Print(loaded->config, flags);
  return status.ok() ? ExitCode::kOk : Report(status);
}

}  // namespace walrelay
