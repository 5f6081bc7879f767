#include "route/router.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Long enough for a uuid or a composed key, short enough for a log line.
constexpr size_t kShownBytes = 80;

}  // namespace

absl::StatusOr<Router> Router::Create(const SourceConfig& source, const RouteConfig& route) {
  WR_ASSIGN_OR_RETURN(TopicRouter topics, TopicRouter::Create(route));
  return Router(source, route, std::move(topics));
}

void Router::StartSession(std::span<const TableFacts> tables) {
  WR_CHECK(tables.size() == source_->tables.size(), "facts come for each configured table");
  bindings_.clear();
  tables_by_oid_.clear();
  for (size_t i = 0; i < tables.size(); ++i) {
    tables_by_oid_[tables[i].oid] = &source_->tables[i];
  }
}

const OutboxTable* Router::FindTable(const pgoutput::CachedRelation& relation) const {
  if (const auto found = tables_by_oid_.find(relation.oid); found != tables_by_oid_.end()) {
    return found->second;
  }
  for (const OutboxTable& table : source_->tables) {
    if (table.schema == relation.schema && table.name == relation.name) {
      return &table;
    }
  }
  return nullptr;
}

bool Router::OnRelation(const pgoutput::CachedRelation& relation) {
  const OutboxTable* table = FindTable(relation);
  if (table == nullptr) {
    bindings_.erase(relation.oid);
    return false;
  }
  bindings_[relation.oid] = BindTable(relation, *table, *route_);
  return true;
}

absl::StatusOr<OptionalBytes> Router::Bytes(pgoutput::Tuple row, const BoundColumn& column) {
  return ColumnBytes(row[static_cast<size_t>(column.index)], column.type_oid, arena_);
}

absl::Status Router::AddHeader(pgoutput::Tuple row, std::string_view name,
                               const BoundColumn& column) {
  WR_ASSIGN_OR_RETURN(const OptionalBytes value, Bytes(row, column));
  headers_.push_back({name, value});
  return absl::OkStatus();
}

absl::Status Router::AddHeaders(pgoutput::Tuple row, const TableBinding& table) {
  headers_.clear();
  if (table.id.present()) {
    WR_RETURN_IF_ERROR(AddHeader(row, "id", table.id));
  }
  if (table.event_type.present()) {
    WR_RETURN_IF_ERROR(AddHeader(row, "event_type", table.event_type));
  }
  if (table.trace_id.present()) {
    WR_RETURN_IF_ERROR(AddHeader(row, "trace_id", table.trace_id));
  }
  for (const TableBinding::HeaderColumn& header : table.headers) {
    WR_RETURN_IF_ERROR(AddHeader(row, header.name, header.column));
  }
  return absl::OkStatus();
}

absl::Status Router::SetTopicAndKey(pgoutput::Tuple row, const TableBinding& table,
                                    Record& record) {
  WR_ASSIGN_OR_RETURN(const OptionalBytes type, Bytes(row, table.aggregate_type));
  if (!type) {
    return Error(ErrorCode::kRouteMissing, "the aggregate type is NULL");
  }
  WR_ASSIGN_OR_RETURN(record.topic, topics_.Topic(*type));
  WR_ASSIGN_OR_RETURN(record.key, Bytes(row, table.aggregate_id));
  if (!record.key) {
    return Error(ErrorCode::kKeyMissing, "the aggregate id is NULL");
  }
  return absl::OkStatus();
}

absl::Status Router::SetPartitionAndTimestamp(pgoutput::Tuple row, const TableBinding& table,
                                              WallTime commit_time, Record& record) const {
  if (table.partition.present()) {
    WR_ASSIGN_OR_RETURN(
        record.partition,
        ColumnPartition(row[static_cast<size_t>(table.partition.index)], table.partition.type_oid));
  }
  switch (route_->timestamp) {
    case TimestampSource::kNow:
      break;
    case TimestampSource::kCommit:
      record.timestamp = commit_time;
      break;
    case TimestampSource::kColumn:
      WR_ASSIGN_OR_RETURN(record.timestamp,
                          ColumnTimestamp(row[static_cast<size_t>(table.timestamp.index)],
                                          table.timestamp.type_oid));
      if (!record.timestamp) {
        record.timestamp = commit_time;
      }
      break;
  }
  return absl::OkStatus();
}

absl::StatusOr<Record> Router::Route(uint32_t relation_oid, pgoutput::Tuple row,
                                     WallTime commit_time) {
  const auto found = bindings_.find(relation_oid);
  WR_CHECK(found != bindings_.end(), "only rows of outbox tables are routed");
  const TableBinding& table = found->second;
  WR_RETURN_IF_ERROR(table.status);
  if (row.size() != table.column_count) {
    return Error(
        ErrorCode::kProtocolViolation,
        fmt::format("a row of {} values in a table of {} columns", row.size(), table.column_count));
  }
  arena_.Clear();
  Record record;
  WR_RETURN_IF_ERROR(SetTopicAndKey(row, table, record));
  WR_RETURN_IF_ERROR(AddHeaders(row, table));
  record.headers = headers_;
  WR_ASSIGN_OR_RETURN(record.value, Bytes(row, table.payload));
  WR_RETURN_IF_ERROR(SetPartitionAndTimestamp(row, table, commit_time, record));
  return record;
}

std::string Router::Identify(uint32_t relation_oid, pgoutput::Tuple row) const {
  const auto found = bindings_.find(relation_oid);
  if (found == bindings_.end()) {
    return "";
  }
  const auto shown = [&](const BoundColumn& column) -> std::string {
    if (!column.present() || static_cast<size_t>(column.index) >= row.size()) {
      return "?";
    }
    const pgoutput::TupleValue& value = row[static_cast<size_t>(column.index)];
    return value.is_null() ? "NULL" : Printable(value.bytes, kShownBytes);
  };
  return fmt::format("id={} key={}", shown(found->second.id), shown(found->second.aggregate_id));
}

OptionalBytes Router::KeyOf(uint32_t relation_oid, pgoutput::Tuple row) {
  const auto found = bindings_.find(relation_oid);
  if (found == bindings_.end() || !found->second.aggregate_id.present() ||
      static_cast<size_t>(found->second.aggregate_id.index) >= row.size()) {
    return std::nullopt;
  }
  const auto key = Bytes(row, found->second.aggregate_id);
  return key.ok() ? *key : std::nullopt;
}

}  // namespace walrelay
