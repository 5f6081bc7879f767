#include "route/table_binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "encode/column_value.h"
#include "pgoutput/type_oids.h"
#include "route/column_binder.h"
#include "route/message_row.h"
#include "walrelay/config/format.h"
#include "walrelay/config/route.h"

namespace walrelay {
namespace {

// For literal lists of default names in calls of Part().
using Names = std::string_view[];

// The members of a message are not columns: Debezium's mappers do not concern them. A transform
// that has no effect on its column publishes what an operator wanted to hide: only Debezium permits
// it.
void BindTransforms(const OutboxTable& table, const BindingContext& context, ColumnBinder& binder,
                    TableBinding& out) {
  if (out.of_messages) {
    return;
  }
  for (const ColumnTransform& transform : table.transforms) {
    // The only column of a connector that may be missing without a setting that permits it.
    binder.BindTransform(transform, transform.column == "tracingspancontext" ||
                                        context.missing_columns == MissingColumns::kIgnore);
  }
  out.transformed = binder.transformed();
  for (const BoundColumn& column : out.transformed) {
    if (context.route.compatibility == Compatibility::kWalrelay) {
      binder.RequireType(column.transform->suits_type(), "column of this transform", column);
    }
  }
}

void BindPlacement(const Placement& placement, const BindingContext& context, ColumnBinder& binder,
                   TableBinding& out) {
  // A missing member does not remove the envelope.
  out.enveloped = out.enveloped || placement.where == Placement::Where::kEnvelope;
  BoundColumn column = context.missing_columns == MissingColumns::kIgnore
                           ? binder.Find(placement.column)
                           : binder.Named(placement.column, "placement");
  if (!column.present()) {
    return;
  }
  switch (placement.where) {
    case Placement::Where::kHeader:
      if (context.format.headers != HeaderFormat::kRaw) {
        binder.Shape(column);
      }
      out.headers.push_back({std::move(column), placement.name});
      break;
    case Placement::Where::kEnvelope:
      binder.Shape(column);
      out.members.push_back({std::move(column), placement.name});
      break;
    case Placement::Where::kPartition:
      binder.RequireType(context.route.compatibility == Compatibility::kDebezium
                             ? column.type_oid == pgoutput::kInt4Oid
                             : IsPartitionType(column.type_oid),
                         "partition", column);
      out.partition = std::move(column);
      break;
  }
}

// The W3C trace context. A column that a placement already maps to a header is not used here.
void BindTraceContext(const OutboxTable& table, ColumnBinder& binder, TableBinding& out) {
  const auto placed = [&](const std::optional<ColumnNames>& configured, std::string_view name) {
    return !configured && std::any_of(table.placements.begin(), table.placements.end(),
                                      [&](const Placement& placement) {
                                        return placement.column.Contains(name) &&
                                               placement.where == Placement::Where::kHeader;
                                      });
  };
  const auto bind = [&](const std::optional<ColumnNames>& configured, std::string_view name) {
    const std::string_view usual[] = {name};
    return placed(configured, name) ? BoundColumn() : binder.Part(configured, name, usual, true);
  };
  out.traceparent = bind(table.columns.traceparent, "traceparent");
  out.tracestate = bind(table.columns.tracestate, "tracestate");
  out.span_context = bind(table.columns.span_context, "tracingspancontext");
}

// Debezium splits a message into its members: an object in it is a value with members.
void ShapeMessagePayload(const BindingContext& context, TableBinding& out) {
  out.payload_is_json = context.format.value.format != Format::kRaw && out.payload.present() &&
                        out.payload.type_oid == pgoutput::kRecordOid;
  // The member's text is parsed a second time, by itself: a document has one schema.
  if (out.payload_is_json) {
    out.payload.type_oid = pgoutput::kTextOid;
  }
}

// Shapes the parts whose format is not raw.
void ShapeParts(const BindingContext& context, ColumnBinder& binder, TableBinding& out) {
  if (context.format.key.format != Format::kRaw) {
    binder.Shape(out.aggregate_id);
  }
  if (context.format.value.format != Format::kRaw) {
    binder.Shape(out.payload);
  }
  if (context.format.headers != HeaderFormat::kRaw) {
    binder.Shape(out.id);
    binder.Shape(out.event_type);
    binder.Shape(out.trace_id);
  }
}

// Debezium reads the aggregate type as text: a column of any other type is invalid.
void BindByDebeziumsRules(ColumnBinder& binder, TableBinding& out) {
  binder.Shape(out.aggregate_type);
  const ConnectColumnType* shape = out.aggregate_type.shape.get();
  binder.RequireType(shape != nullptr && shape->schema->type == SchemaType::kString,
                     "aggregate type", out.aggregate_type);
}

void BindTimestamp(const RouteConfig& route, ColumnBinder& binder, TableBinding& out) {
  if (route.timestamp != TimestampSource::kColumn) {
    return;
  }
  out.timestamp = binder.Named(route.timestamp_column, "timestamp");
  const bool debezium = route.compatibility == Compatibility::kDebezium;
  binder.RequireType(debezium ? out.timestamp.type_oid == pgoutput::kTimestampOid
                              : IsTimestampType(out.timestamp.type_oid),
                     "timestamp", out.timestamp);
  if (debezium) {
    binder.Shape(out.timestamp);
    const ConnectColumnType* shape = out.timestamp.shape.get();
    // Debezium cannot read the timestamps of the modes "connect", "isostring" and "structured".
    binder.RequireType(shape != nullptr && shape->schema->name.starts_with("io.debezium.time.") &&
                           shape->schema->type == SchemaType::kInt64,
                       "timestamp with this format.time", out.timestamp);
  }
}

// The version is required only for an envelope.
void BindVersion(const ColumnMapping& names, ColumnBinder& binder, TableBinding& out) {
  if (out.enveloped && names.version && !names.version->empty()) {
    out.version = binder.Named(*names.version, "version");
    binder.RequireType(out.version.type_oid == pgoutput::kInt4Oid, "version", out.version);
    binder.Shape(out.version);
  }
}

// For the limit on a row's size: columns that no part uses may be of any size.
std::vector<size_t> UsedColumns(const TableBinding& table) {
  std::vector<size_t> used;
  const auto add = [&](const BoundColumn& column) {
    const auto index = static_cast<size_t>(column.index);
    if (column.present() && std::find(used.begin(), used.end(), index) == used.end()) {
      used.push_back(index);
    }
  };
  for (const BoundColumn* column :
       {&table.id, &table.aggregate_type, &table.aggregate_id, &table.event_type, &table.payload,
        &table.trace_id, &table.traceparent, &table.tracestate, &table.span_context,
        &table.timestamp, &table.partition, &table.version}) {
    add(*column);
  }
  for (const auto& placements : {table.headers, table.members}) {
    for (const TableBinding::NamedColumn& placement : placements) {
      add(placement.column);
    }
  }
  return used;
}

}  // namespace

// The order does not matter, except that an envelope must be known before its version.
TableBinding BindTable(const pgoutput::CachedRelation& relation, const OutboxTable& table,
                       const BindingContext& context) {
  constexpr bool kRequired = false;
  constexpr bool kOptional = true;
  const ColumnMapping& names = table.columns;
  TableBinding out;
  // The types of a message's members follow from their values, whatever the modes are.
  out.of_messages = relation.oid == kMessageRelation;
  constexpr TypeModes kModesOfMessages{};
  ColumnBinder binder(relation, context.info,
                      out.of_messages ? kModesOfMessages : context.format.types, out.status);
  // A row with another number of values violates the protocol.
  out.column_count = relation.columns.size();
  BindTransforms(table, context, binder, out);
  out.id = binder.Part(names.id, "event id", Names{"id"}, kRequired);
  out.aggregate_type = binder.Part(names.aggregate_type, "aggregate type",
                                   Names{"aggregate_type", "aggregatetype"}, kRequired);
  out.aggregate_id = binder.Part(names.aggregate_id, "aggregate id",
                                 Names{"aggregate_id", "aggregateid"}, kRequired);
  out.payload = binder.Part(names.payload, "payload", Names{"payload"}, kRequired);
  out.event_type =
      binder.Part(names.event_type, "event type", Names{"event_type", "type"}, kOptional);
  out.trace_id = binder.Part(names.trace_id, "trace id", Names{"trace_id"}, kOptional);
  BindTraceContext(table, binder, out);
  if (out.payload.present()) {
    out.payload_name = binder.NameIn(out.payload);
  }
  if (out.of_messages) {
    ShapeMessagePayload(context, out);
  } else {
    const std::string& prefix = context.format.schema_prefix;
    out.schema_name =
        fmt::format("{}{}{}.{}", prefix, prefix.empty() ? "" : ".", relation.schema, relation.name);
  }
  ShapeParts(context, binder, out);
  if (context.route.compatibility == Compatibility::kDebezium) {
    BindByDebeziumsRules(binder, out);
  }
  BindTimestamp(context.route, binder, out);
  for (const Placement& placement : table.placements) {
    BindPlacement(placement, context, binder, out);
  }
  BindVersion(names, binder, out);
  out.used = UsedColumns(out);
  out.enums = binder.enums();
  return out;
}

}  // namespace walrelay
