#include "route/table_binding.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "base/text.h"
#include "encode/column_value.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

class Binder {
 public:
  Binder(const pgoutput::CachedRelation& relation, absl::Status& status)
      : relation_(relation), status_(status) {}

  // The column called `name`.
  BoundColumn Named(std::string_view name, std::string_view purpose) {
    const BoundColumn column = Find(name);
    if (!column.present()) {
      Fail(fmt::format("{}.{} has no column \"{}\" ({}); it has {}", relation_.schema,
                       relation_.name, Printable(name, 63), purpose, ColumnNamesOfRelation()));
    }
    return column;
  }

  // A part whose column has usual names, ours first, then Debezium's.
  BoundColumn Part(const std::optional<std::string>& configured, std::string_view purpose,
                   std::span<const std::string_view> usual, bool optional) {
    if (configured) {
      return configured->empty() ? BoundColumn() : Named(*configured, purpose);
    }
    for (const std::string_view name : usual) {
      if (const BoundColumn column = Find(name); column.present()) {
        return column;
      }
    }
    return optional ? BoundColumn() : Named(usual.front(), purpose);
  }

  void RequireType(bool fits, std::string_view name, std::string_view purpose,
                   const BoundColumn& column) {
    if (column.present() && !fits) {
      status_.Update(Error(ErrorCode::kColumnType,
                           fmt::format("column \"{}\" of {}.{} has type {}, which cannot be the {}",
                                       Printable(name, 63), relation_.schema, relation_.name,
                                       column.type_oid, purpose)));
    }
  }

 private:
  BoundColumn Find(std::string_view name) const {
    for (size_t i = 0; i < relation_.columns.size(); ++i) {
      if (relation_.columns[i].name == name) {
        return {static_cast<int>(i), relation_.columns[i].type_oid};
      }
    }
    return {};
  }

  std::string ColumnNamesOfRelation() const {
    std::string names;
    for (const auto& column : relation_.columns) {
      names += (names.empty() ? "" : ", ") + Printable(column.name, 63);
    }
    return names;
  }

  // The first problem is the one that is told.
  void Fail(std::string_view message) { status_.Update(Error(ErrorCode::kColumnMissing, message)); }

  const pgoutput::CachedRelation& relation_;
  absl::Status& status_;
};

using Names = std::string_view[];

void BindPlacements(const OutboxTable& table, Binder& binder, TableBinding& out) {
  for (const Placement& placement : table.placements) {
    const BoundColumn column = binder.Named(placement.column, "placement");
    if (placement.where == Placement::Where::kPartition) {
      binder.RequireType(IsPartitionType(column.type_oid), placement.column, "partition", column);
      out.partition = column;
    } else {
      out.headers.push_back({column, placement.name});
    }
  }
}

}  // namespace

TableBinding BindTable(const pgoutput::CachedRelation& relation, const OutboxTable& table,
                       const RouteConfig& route) {
  constexpr bool kRequired = false;
  constexpr bool kOptional = true;
  const ColumnNames& names = table.columns;
  TableBinding out;
  Binder binder(relation, out.status);
  out.column_count = relation.columns.size();
  out.id = binder.Part(names.id, "event id", Names{"id"}, kRequired);
  out.aggregate_type = binder.Part(names.aggregate_type, "aggregate type",
                                   Names{"aggregate_type", "aggregatetype"}, kRequired);
  out.aggregate_id = binder.Part(names.aggregate_id, "aggregate id",
                                 Names{"aggregate_id", "aggregateid"}, kRequired);
  out.payload = binder.Part(names.payload, "payload", Names{"payload"}, kRequired);
  out.event_type =
      binder.Part(names.event_type, "event type", Names{"event_type", "type"}, kOptional);
  out.trace_id = binder.Part(names.trace_id, "trace id", Names{"trace_id"}, kOptional);
  if (route.timestamp == TimestampSource::kColumn) {
    out.timestamp = binder.Named(route.timestamp_column, "timestamp");
    binder.RequireType(IsTimestampType(out.timestamp.type_oid), route.timestamp_column, "timestamp",
                       out.timestamp);
  }
  BindPlacements(table, binder, out);
  return out;
}

}  // namespace walrelay
