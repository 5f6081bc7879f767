#include "route/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/text.h"
#include "encode/converter.h"
#include "pgoutput/type_oids.h"
#include "route/message_row.h"
#include "route/topic_name.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Long enough for a UUID or a composite key, short enough for a log line.
constexpr size_t kShownBytes = 80;

int64_t UnitsPerMillisecond(ColumnForm form) {
  switch (form) {
    case ColumnForm::kTimestampMillis:
      return 1;
    case ColumnForm::kTimestampNanos:
      return 1'000'000;
    default:
      return 1'000;
  }
}

}  // namespace

absl::StatusOr<Router> Router::Create(const Config& config, std::string run_id) {
  WR_ASSIGN_OR_RETURN(
      TopicRouter topics,
      TopicRouter::Create(config.route, ReservedTopics(config.progress_topic(), config.on_error)));
  return Router(config.source, config.route, config.format, std::move(topics), std::move(run_id),
                RowLimits::For(config.limits().max_record_bytes));
}

absl::StatusOr<Router> Router::Create(const SourceConfig& source, const RouteConfig& route,
                                      const FormatConfig& format, std::string run_id,
                                      const RowLimits& limits) {
  WR_ASSIGN_OR_RETURN(TopicRouter topics, TopicRouter::Create(route));
  return Router(source, route, format, std::move(topics), std::move(run_id), limits);
}

const FormatConfig& Router::RawFormats() {
  static const FormatConfig kRaw;
  return kRaw;
}

RowLimits Router::DefaultLimits() {
  return RowLimits::For(Config().limits().max_record_bytes);
}

// Bindings are made from the server's descriptions, which arrive before the first row.
void Router::StartSession(std::span<const TableInfo> tables) {
  WR_CHECK(tables.size() == source_->tables.size(), "there is one entry for each configured table");
  bindings_.clear();
  tables_by_oid_.clear();
  info_.assign(tables.begin(), tables.end());
  for (size_t i = 0; i < tables.size(); ++i) {
    tables_by_oid_[tables[i].oid] = i;
  }
}

// By OID first: a renamed table keeps its OID. By name for rows of a table that was dropped and
// recreated: their OID is not in the catalog any more.
std::optional<size_t> Router::FindTable(const pgoutput::CachedRelation& relation) const {
  if (relation.oid == kMessageRelation) {
    return 0;
  }
  if (const auto found = tables_by_oid_.find(relation.oid); found != tables_by_oid_.end()) {
    return found->second;
  }
  for (size_t i = 0; i < source_->tables.size(); ++i) {
    if (source_->tables[i].schema == relation.schema && source_->tables[i].name == relation.name) {
      return i;
    }
  }
  return std::nullopt;
}

// False: rows of this table are not events. The binding of an OID is replaced with each
// description: columns may have changed.
bool Router::OnRelation(const pgoutput::CachedRelation& relation) {
  const auto table = FindTable(relation);
  if (!table) {
    bindings_.erase(relation.oid);
    return false;
  }
  bindings_[relation.oid] =
      BindTable(relation, source_->tables[*table],
                {.route = *route_,
                 .format = *format_,
                 .missing_columns = source_->missing_columns,
                 .info = *table < info_.size() && relation.oid != kMessageRelation ? &info_[*table]
                                                                                   : nullptr});
  return true;
}

bool Router::IsAsKnown(const pgoutput::CachedRelation& relation) const {
  const auto table = FindTable(relation);
  if (!table || *table >= info_.size() || info_[*table].columns.empty()) {
    return true;
  }
  auto column = relation.columns.begin();
  for (const ColumnInfo& known : info_[*table].columns) {
    if (!known.sent) {
      continue;
    }
    if (column == relation.columns.end() || column->name != known.name ||
        column->type_oid != known.type_oid || column->type_modifier != known.type_modifier) {
      return false;
    }
    ++column;
  }
  return column == relation.columns.end();
}

bool Router::HasKnownLabels(uint32_t relation_oid, pgoutput::Tuple row) const {
  const auto found = bindings_.find(relation_oid);
  if (found == bindings_.end()) {
    return true;
  }
  const std::vector<EnumColumn>& enums = found->second.enums;
  return std::all_of(enums.begin(), enums.end(), [&](const EnumColumn& column) {
    return column.index >= row.size() || row[column.index].is_null() ||
           std::find(column.labels.begin(), column.labels.end(), row[column.index].bytes) !=
               column.labels.end();
  });
}

bool Router::TakesMessages(std::string_view prefix) const {
  return MatchesAnyGlob(prefix, source_->message_prefixes);
}

// Checked before any processing: a row that cannot fit into a record is not parsed.
absl::Status Router::CheckSize(pgoutput::Tuple row, const TableBinding& table) const {
  // Only columns that the record uses: others may be of any size.
  size_t bytes = 0;
  for (const size_t column : table.used) {
    bytes += row[column].bytes.size();
  }
  if (bytes <= limits_.raw_bytes) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kRecordTooLarge,
               fmt::format("the columns of the record have {} bytes; the limit is {}, four times "
                           "kafka.max_record_bytes",
                           bytes, limits_.raw_bytes));
}

// With a shape (Debezium's rules) the column is text, and NULL stays NULL: the default of a column
// does not apply to the route.
absl::StatusOr<OptionalBytes> Router::AggregateType(pgoutput::Tuple row,
                                                    const BoundColumn& column) {
  if (column.shape == nullptr) {
    return BytesOf(row, column, arena_);
  }
  WR_ASSIGN_OR_RETURN(const Datum type, DatumOf(row, column, arena_));
  return type.is_null() ? OptionalBytes() : TextOf(column, type, arena_);
}

absl::StatusOr<OptionalBytes> Router::Key(pgoutput::Tuple row, const BoundColumn& column) {
  if (column.shape == nullptr) {
    return BytesOf(row, column, arena_);
  }
  WR_ASSIGN_OR_RETURN(const Datum key, DatumOf(row, column, arena_));
  return Convert(format_->key, column.shape->schema.get(), key, key_);
}

// NULL keys: Debezium publishes them, on any partition. walrelay's default is an error, because
// events without a key have no order.
absl::Status Router::SetTopicAndKey(pgoutput::Tuple row, const TableBinding& table,
                                    Record& record) {
  WR_ASSIGN_OR_RETURN(const OptionalBytes type, AggregateType(row, table.aggregate_type));
  if (!type) {
    return Error(ErrorCode::kRouteMissing, "the aggregate type is NULL");
  }
  aggregate_type_ = *type;
  WR_ASSIGN_OR_RETURN(record.topic, topics_.Topic(*type));
  WR_ASSIGN_OR_RETURN(record.key, Key(row, table.aggregate_id));
  if (!record.key && route_->compatibility == Compatibility::kWalrelay) {
    return Error(ErrorCode::kKeyMissing, "the aggregate id is NULL");
  }
  return absl::OkStatus();
}

// The column is optional, its value is not checked against the topic here: the partition count is
// known to the producer only.
absl::Status Router::SetPartitionAndTimestamp(pgoutput::Tuple row, const TableBinding& table,
                                              std::optional<WallTime> commit_time, Record& record) {
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
      if (route_->compatibility == Compatibility::kDebezium) {
        WR_ASSIGN_OR_RETURN(record.timestamp, DebeziumsTimestamp(row, table.timestamp));
        break;
      }
      WR_ASSIGN_OR_RETURN(record.timestamp,
                          ColumnTimestamp(row[static_cast<size_t>(table.timestamp.index)],
                                          table.timestamp.type_oid));
      // The column is NULL.
      if (!record.timestamp) {
        record.timestamp = commit_time;
      }
      break;
  }
  return absl::OkStatus();
}

// In whole milliseconds, truncated towards 1970; -1 means "none" in Kafka Connect.
absl::StatusOr<std::optional<WallTime>> Router::DebeziumsTimestamp(pgoutput::Tuple row,
                                                                   const BoundColumn& column) {
  WR_ASSIGN_OR_RETURN(const Datum time, DatumOf(row, column, arena_));
  if (time.is_null()) {
    return std::nullopt;
  }
  const int64_t millis = std::get<int64_t>(time.value) / UnitsPerMillisecond(column.shape->form);
  if (millis == -1) {
    return std::nullopt;
  }
  // In milliseconds; WallTime counts microseconds.
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max() / 1000;
  if (millis < 0 || millis > kMax) {
    return Error(ErrorCode::kValueInvalid, fmt::format("\"{}\" cannot be a record's timestamp",
                                                       Printable(ValueOf(row, column).bytes, 40)));
  }
  return WallTime(Micros(millis * 1000));
}

absl::StatusOr<const TableBinding*> Router::BindingOf(uint32_t relation_oid,
                                                      pgoutput::Tuple row) const {
  const auto found = bindings_.find(relation_oid);
  WR_CHECK(found != bindings_.end(), "only rows of outbox tables are routed");
  const TableBinding& table = found->second;
  if (table.of_messages && !table.status.ok()) {
    // Each message has its own columns: one without a column says nothing about the next.
    return Error(ErrorCode::kValueInvalid, MessageOf(table.status), RemedyFor(table.status));
  }
  WR_RETURN_IF_ERROR(table.status);
  if (row.size() != table.column_count) {
    return Error(
        ErrorCode::kProtocolViolation,
        fmt::format("a row of {} values in a table of {} columns", row.size(), table.column_count));
  }
  WR_RETURN_IF_ERROR(CheckSize(row, table));
  return &table;
}

std::optional<std::string_view> Router::TopicOf(uint32_t relation_oid, pgoutput::Tuple row) {
  const auto table = BindingOf(relation_oid, row);
  if (!table.ok()) {
    return std::nullopt;
  }
  arena_.Clear();
  const auto type = AggregateType(row, (*table)->aggregate_type);
  if (!type.ok() || !*type) {
    return std::nullopt;
  }
  const auto topic = topics_.Topic(**type);
  return topic.ok() ? std::optional(*topic) : std::nullopt;
}

// The order of the steps matters for the errors: those of the table and of the row's size, then
// those of its parts.
absl::StatusOr<Record> Router::Route(uint32_t relation_oid, pgoutput::Tuple row,
                                     std::optional<WallTime> commit_time) {
  WR_ASSIGN_OR_RETURN(const TableBinding* const binding, BindingOf(relation_oid, row));
  const TableBinding& table = *binding;
  // After the checks that need no memory, and before anything is built for this row.
  arena_.Clear();
  Record record;
  WR_RETURN_IF_ERROR(SetTopicAndKey(row, table, record));
  // Views: of the row, of the arena, and of this object. They are valid until the next call.
  WR_ASSIGN_OR_RETURN(record.headers, headers_.Build(row, table, commit_time, arena_));
  WR_ASSIGN_OR_RETURN(record.value, value_.Encode(row, table, aggregate_type_, arena_));
  WR_RETURN_IF_ERROR(SetPartitionAndTimestamp(row, table, commit_time, record));
  return record;
}

// For logs and pages: the values come from rows, so they are escaped and cut.
std::string Router::Identify(uint32_t relation_oid, pgoutput::Tuple row) const {
  const auto found = bindings_.find(relation_oid);
  if (found == bindings_.end()) {
    return "";
  }
  const auto shown = [&](const BoundColumn& column) -> std::string {
    if (!column.present() || static_cast<size_t>(column.index) >= row.size()) {
      return "?";
    }
    const pgoutput::TupleValue& value = ValueOf(row, column);
    if (column.transform == nullptr) {
      return value.is_null() ? "NULL" : Printable(value.bytes, kShownBytes);
    }
    Arena arena;
    const auto bytes = BytesOf(row, column, arena);
    return !bytes.ok() ? "?" : *bytes ? Printable(**bytes, kShownBytes) : "NULL";
  };
  return fmt::format("id={} key={}", shown(found->second.id), shown(found->second.aggregate_id));
}

// A bytea that was cut is raw bytes, which only the binary form can hold.
pgoutput::Tuple Router::PublishedRow(uint32_t relation_oid, pgoutput::Tuple row) {
  using ValueKind = pgoutput::TupleValue::Kind;
  const auto found = bindings_.find(relation_oid);
  if (found == bindings_.end() || found->second.transformed.empty()) {
    return row;
  }
  row_.assign(row.begin(), row.end());
  for (const BoundColumn& column : found->second.transformed) {
    if (column.transform->suits_type() && static_cast<size_t>(column.index) < row.size()) {
      const auto bytes = BytesOf(row, column, arena_);
      const auto kind =
          column.type_oid == pgoutput::kByteaOid ? ValueKind::kBinary : ValueKind::kText;
      row_[static_cast<size_t>(column.index)] =
          bytes.ok() && *bytes ? pgoutput::TupleValue{kind, **bytes} : pgoutput::TupleValue();
    }
  }
  return row_;
}

// For a dead letter, which has the row's key if that is possible.
OptionalBytes Router::KeyOf(uint32_t relation_oid, pgoutput::Tuple row) {
  const auto found = bindings_.find(relation_oid);
  if (found == bindings_.end() || !found->second.aggregate_id.present() ||
      static_cast<size_t>(found->second.aggregate_id.index) >= row.size()) {
    return std::nullopt;
  }
  // A key of this size would make the dead letter itself too large.
  if (ValueOf(row, found->second.aggregate_id).bytes.size() > limits_.raw_bytes) {
    return std::nullopt;
  }
  const auto key = BytesOf(row, found->second.aggregate_id, arena_);
  return key.ok() ? *key : std::nullopt;
}

}  // namespace walrelay
