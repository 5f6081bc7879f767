#include "route/table_binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "base/text.h"
#include "encode/column_datum.h"
#include "encode/column_value.h"
#include "pgoutput/type_oids.h"
#include "route/message_row.h"
#include "walrelay/config/format.h"
#include "walrelay/config/route.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Looks columns up by name, and notes the first problem.
class Binder {
 public:
  Binder(const pgoutput::CachedRelation& relation, const TableInfo* info, const TypeModes& modes,
         absl::Status& status)
      : relation_(relation), info_(info), modes_(modes), status_(status) {}

  // Before any column is looked up. A transform that has no effect on its column publishes what an
  // operator wanted to hide: only Debezium permits it.
  void BindTransform(const ColumnTransform& rule, const BindingContext& context, bool optional) {
    BoundColumn column = optional || context.missing_columns == MissingColumns::kIgnore
                             ? Find(rule.column)
                             : Named(rule.column, "transform");
    if (!column.present()) {
      return;
    }
    const ColumnTraits traits = TraitsOf(column);
    const auto shape = ShapeOf(traits, modes_);
    column.transform =
        std::make_shared<const ValueTransform>(rule, traits, shape.ok() ? &*shape : nullptr);
    if (context.route.compatibility == Compatibility::kWalrelay) {
      RequireType(column.transform->suits_type(), "column of this transform", column);
    }
    transformed_.push_back(std::move(column));
  }
  const std::vector<BoundColumn>& transformed() const { return transformed_; }
  // The enums among the columns that a schema describes. The list names a column twice if the row
  // uses it for two purposes.
  const std::vector<TableBinding::EnumColumn>& enums() const { return enums_; }

  BoundColumn Find(std::string_view name) const {
    for (size_t i = 0; i < relation_.columns.size(); ++i) {
      if (relation_.columns[i].name == name) {
        return {static_cast<int>(i), relation_.columns[i].type_oid, nullptr,
                TransformOf(static_cast<int>(i))};
      }
    }
    return {};
  }

  // The column called `name`.
  BoundColumn Named(std::string_view name, std::string_view purpose) {
    const BoundColumn column = Find(name);
    if (!column.present() && IsInCatalog(name)) {
      FailForOldRow(name, purpose);
    } else if (!column.present()) {
      status_.Update(Error(
          ErrorCode::kColumnMissing,
          fmt::format("{}.{} has no column \"{}\" ({}); it has {}", relation_.schema,
                      relation_.name, Printable(name, 63), purpose, ColumnNamesOfRelation())));
    }
    return column;
  }

  // A part whose column has default names: walrelay's first, then Debezium's.
  BoundColumn Part(const std::optional<std::string>& configured, std::string_view purpose,
                   std::span<const std::string_view> usual, bool optional) {
    // "" means "no such column", also where a column with a default name exists.
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

  // Sets the part's shape in Connect's model.
  void Shape(BoundColumn& column) {
    if (!column.present()) {
      return;
    }
    const ColumnTraits traits = TraitsOf(column);
    auto shape = ShapeOf(traits, modes_);
    if (shape.ok()) {
      if (!traits.enum_labels.empty()) {
        enums_.push_back({static_cast<size_t>(column.index), traits.enum_labels});
      }
      if (column.transform != nullptr) {
        AddParameter(*column.transform, *shape);
      }
      column.shape = std::make_shared<const ConnectColumnType>(*std::move(shape));
    } else {
      status_.Update(Annotate(shape.status(), fmt::format("column \"{}\"", NameOf(column))));
    }
  }

  void RequireType(bool fits, std::string_view purpose, const BoundColumn& column) {
    if (column.present() && !fits) {
      status_.Update(Error(
          ErrorCode::kColumnType,
          fmt::format("column \"{}\" of {}.{} has type {}, which cannot be the {}", NameOf(column),
                      relation_.schema, relation_.name, column.type_oid, purpose)));
    }
  }

  const std::string& NameIn(const BoundColumn& column) const {
    return relation_.columns[static_cast<size_t>(column.index)].name;
  }

 private:
  std::shared_ptr<const ValueTransform> TransformOf(int index) const {
    const auto found = std::find_if(transformed_.begin(), transformed_.end(),
                                    [&](const auto& column) { return column.index == index; });
    return found == transformed_.end() ? nullptr : found->transform;
  }

  // Behind the parameters of the type itself.
  static void AddParameter(const ValueTransform& transform, ConnectColumnType& shape) {
    if (auto parameter = transform.SchemaParameter()) {
      Schema schema = *shape.schema;
      schema.parameters.push_back(*std::move(parameter));
      shape.schema = std::make_shared<const Schema>(std::move(schema));
    }
  }

  std::string NameOf(const BoundColumn& column) const { return Printable(NameIn(column), 63); }

  ColumnTraits TraitsOf(const BoundColumn& column) const {
    ColumnTraits traits{
        .type_oid = column.type_oid,
        .type_modifier = relation_.columns[static_cast<size_t>(column.index)].type_modifier};
    // The stream describes names and types only. Nullability, defaults and enum labels come from
    // the catalog; without them every column counts as nullable.
    if (info_ != nullptr) {
      for (const ColumnInfo& known : info_->columns) {
        if (known.name == NameIn(column)) {
          traits.nullable = !known.not_null;
          traits.default_expression = known.default_expression;
          traits.enum_labels = known.enum_labels;
          traits.type_name = known.type_name;
          if (known.is_domain) {
            // Debezium ignores the default of a column whose type is a domain.
            traits.type_modifier = known.domain_modifier;
            traits.default_expression.clear();
          }
        }
      }
    }
    return traits;
  }

  // The message lists the columns that exist: a wrong name is usually a spelling of one of them.
  std::string ColumnNamesOfRelation() const {
    std::string names;
    for (const auto& column : relation_.columns) {
      names += (names.empty() ? "" : ", ") + Printable(column.name, 63);
    }
    return names;
  }

  // Whether the table has the column now, whatever it had when the row was written.
  bool IsInCatalog(std::string_view name) const {
    return info_ != nullptr &&
           std::any_of(info_->columns.begin(), info_->columns.end(),
                       [&](const ColumnInfo& known) { return known.name == name; });
  }

  // The mapping suits the table, and not the rows that were written before the table was changed.
  // Only the first problem is reported.
  void FailForOldRow(std::string_view name, std::string_view purpose) {
    status_.Update(Error(
        ErrorCode::kColumnMissing,
        fmt::format("{}.{} has column \"{}\" ({}) now, but not when this row was written: then it "
                    "had {}",
                    relation_.schema, relation_.name, Printable(name, 63), purpose,
                    ColumnNamesOfRelation()),
        fmt::format("Map the {0} to the column that the row has, in [source.columns], and restart "
                    "walrelay: it publishes the rows from before the change of the table, and is "
                    "blocked (WR-3001) at the first one after it. Then map the {0} to \"{1}\" "
                    "again, and restart walrelay.",
                    purpose, Printable(name, 63))));
  }

  const pgoutput::CachedRelation& relation_;
  const TableInfo* info_;
  const TypeModes& modes_;
  absl::Status& status_;
  std::vector<BoundColumn> transformed_;
  std::vector<TableBinding::EnumColumn> enums_;
};

// For literal lists of default names in calls of Part().
using Names = std::string_view[];

// The members of a message are not columns: Debezium's mappers do not concern them.
void BindTransforms(const OutboxTable& table, const BindingContext& context, Binder& binder,
                    TableBinding& out) {
  if (out.of_messages) {
    return;
  }
  for (const ColumnTransform& transform : table.transforms) {
    // The only column of a connector that may be missing without a setting that permits it.
    const bool optional = transform.column == "tracingspancontext";
    binder.BindTransform(transform, context, optional);
  }
  out.transformed = binder.transformed();
}

void BindPlacement(const Placement& placement, const BindingContext& context, Binder& binder,
                   TableBinding& out) {
  // A missing member does not remove the envelope.
  out.enveloped = out.enveloped || placement.where == Placement::Where::kEnvelope;
  // Find() accepts a missing column, Named() notes an error.
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
void BindTraceContext(const OutboxTable& table, Binder& binder, TableBinding& out) {
  const auto placed = [&](const std::optional<std::string>& configured, std::string_view name) {
    return !configured && std::any_of(table.placements.begin(), table.placements.end(),
                                      [&](const Placement& placement) {
                                        return placement.column == name &&
                                               placement.where == Placement::Where::kHeader;
                                      });
  };
  const auto bind = [&](const std::optional<std::string>& configured, std::string_view name) {
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
void ShapeParts(const BindingContext& context, Binder& binder, TableBinding& out) {
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
void BindByDebeziumsRules(Binder& binder, TableBinding& out) {
  binder.Shape(out.aggregate_type);
  const ConnectColumnType* shape = out.aggregate_type.shape.get();
  binder.RequireType(shape != nullptr && shape->schema->type == SchemaType::kString,
                     "aggregate type", out.aggregate_type);
}

void BindTimestamp(const RouteConfig& route, Binder& binder, TableBinding& out) {
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
void BindVersion(const ColumnNames& names, Binder& binder, TableBinding& out) {
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

absl::StatusOr<OptionalBytes> BytesOf(pgoutput::Tuple row, const BoundColumn& column,
                                      Arena& arena) {
  auto bytes = ColumnBytes(ValueOf(row, column), column.type_oid, arena);
  if (column.transform == nullptr || !bytes.ok()) {
    return bytes;
  }
  return column.transform->ApplyToBytes(*bytes, arena);
}

absl::StatusOr<Datum> DatumOf(pgoutput::Tuple row, const BoundColumn& column, Arena& arena) {
  auto datum = ColumnDatum(ValueOf(row, column), *column.shape, arena);
  if (column.transform == nullptr || !datum.ok()) {
    return datum;
  }
  return column.transform->Apply(*std::move(datum), arena);
}

// The order does not matter, except that an envelope must be known before its version.
TableBinding BindTable(const pgoutput::CachedRelation& relation, const OutboxTable& table,
                       const BindingContext& context) {
  constexpr bool kRequired = false;
  constexpr bool kOptional = true;
  const ColumnNames& names = table.columns;
  TableBinding out;
  // The types of a message's members follow from their values, whatever the modes are.
  out.of_messages = relation.oid == kMessageRelation;
  constexpr TypeModes kModesOfMessages{};
  Binder binder(relation, context.info, out.of_messages ? kModesOfMessages : context.format.types,
                out.status);
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
