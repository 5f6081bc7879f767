#include "setup/new_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/quote.h"
#include "base/text.h"
#include "outbox/partition_plan.h"
#include "walrelay/config/outbox_table.h"

namespace walrelay {
namespace {

// A column of the table to create. Two parts of an event may be mapped to the same column.
struct NewColumn {
  std::string name;
  std::string definition;
  std::string_view comment = {};
};

class NewColumns {
 public:
  void Add(std::string_view name, std::string definition, std::string_view comment = {}) {
    const auto same = [&](const NewColumn& column) { return column.name == name; };
    if (!name.empty() && std::none_of(columns_.begin(), columns_.end(), same)) {
      columns_.push_back({std::string(name), std::move(definition), comment});
    }
  }
  // `constraint`: after the columns; "": none.
  std::string Sql(std::string_view constraint = "") const {
    std::string out;
    for (const NewColumn& column : columns_) {
      const bool last = &column == &columns_.back() && constraint.empty();
      out += fmt::format("  {:<16} {}{}{}{}\n", QuoteIdentifier(column.name), column.definition,
                         last ? "" : ",", column.comment.empty() ? "" : "  -- ", column.comment);
    }
    return constraint.empty() ? out : fmt::format("{}  {}\n", out, constraint);
  }

 private:
  std::vector<NewColumn> columns_;
};

// For the age of rows: walrelay does not publish it.
constexpr std::string_view kTimeColumn = "created_at";

// The limit leaves room for the key and the headers. A row beyond it could not be published, and
// one of hundreds of megabytes may not even fit into the memory of the relay.
std::string PayloadDefinition(std::string_view name, int64_t max_record_bytes) {
  return fmt::format(
      "jsonb       NOT NULL CHECK (pg_catalog.octet_length({}::pg_catalog.text) <= {})",
      QuoteIdentifier(name), max_record_bytes / 10 * 9);
}

NewColumns ColumnsOf(const OutboxTable& table, std::string_view id_definition,
                     int64_t max_record_bytes) {
  const ColumnMapping& names = table.columns;
  const std::string payload = names.payload.value_or("payload").preferred();
  NewColumns columns;
  columns.Add(names.id.value_or("id").preferred(), std::string(id_definition));
  columns.Add(names.aggregate_type.value_or("aggregate_type").preferred(), "text        NOT NULL",
              "the topic is derived from it");
  columns.Add(names.aggregate_id.value_or("aggregate_id").preferred(), "text        NOT NULL",
              "the record's key: events of one aggregate keep their order");
  columns.Add(names.event_type.value_or("event_type").preferred(), "text        NOT NULL");
  columns.Add(payload, PayloadDefinition(payload, max_record_bytes),
              "the record's value, as Postgres prints it");
  columns.Add(kTimeColumn, "timestamptz NOT NULL DEFAULT pg_catalog.now()");
  columns.Add(names.trace_id.value_or("trace_id").preferred(), "text");
  for (const auto* name :
       {&names.traceparent, &names.tracestate, &names.span_context, &names.version}) {
    columns.Add(name->value_or("").preferred(), "text");
  }
  for (const Placement& placement : table.placements) {
    columns.Add(placement.column.preferred(),
                placement.where == Placement::Where::kPartition ? "integer" : "text");
  }
  return columns;
}

// The table has no rows yet, so no session waits for the locks of PARTITION OF. The DEFAULT
// partition accepts rows for which no partition was created in time: without it, an application's
// INSERT would fail.
std::string CreatePartitions(const OutboxTable& table, const NewPartitions& partitions) {
  const auto create = [&](const std::string& name) {
    return fmt::format("\nCREATE TABLE {} PARTITION OF {}", QuoteQualified(table.schema, name),
                       QuotedName(table));
  };
  std::string sql = create(DefaultPartitionName(table.name)) + " DEFAULT;";
  for (const PartitionBounds& bounds :
       MissingPartitions(partitions.period, UsualAhead(partitions.period), {}, partitions.now)) {
    sql += fmt::format("{}\n  FOR VALUES FROM ({}) TO ({});",
                       create(PartitionName(table.name, partitions.period, bounds.from)),
                       QuoteLiteral(Rfc3339(bounds.from)), QuoteLiteral(Rfc3339(bounds.to)));
  }
  return sql;
}

// The primary key of a partitioned table contains the time: two partitions may have the same id.
std::string CreatePartitionedTable(const OutboxTable& table, const NewPartitions& partitions,
                                   int64_t max_record_bytes) {
  const NewColumns columns = ColumnsOf(
      table, "uuid        NOT NULL DEFAULT pg_catalog.gen_random_uuid()", max_record_bytes);
  const std::string id = table.columns.id.value_or("id").preferred();
  const std::string time = QuoteIdentifier(kTimeColumn);
  return fmt::format(
      "CREATE TABLE {} (\n{}) PARTITION BY RANGE ({});{}", QuotedName(table),
      columns.Sql(id.empty() ? "" : fmt::format("PRIMARY KEY ({}, {})", QuoteIdentifier(id), time)),
      time, CreatePartitions(table, partitions));
}

}  // namespace

std::string QuotedName(const OutboxTable& table) {
  return QuoteQualified(table.schema, table.name);
}

std::string CreateTable(const OutboxTable& table, const std::optional<NewPartitions>& partitions,
                        int64_t max_record_bytes) {
  WR_CHECK(max_record_bytes > 0, "records have a limit");
  if (partitions) {
    return CreatePartitionedTable(table, *partitions, max_record_bytes);
  }
  const NewColumns columns = ColumnsOf(
      table, "uuid        PRIMARY KEY DEFAULT pg_catalog.gen_random_uuid()", max_record_bytes);
  return fmt::format("CREATE TABLE {} (\n{});", QuotedName(table), columns.Sql());
}

}  // namespace walrelay
