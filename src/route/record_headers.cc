#include "route/record_headers.h"

#include <utility>

#include "base/text.h"
#include "encode/properties_text.h"
#include "encode/schema.h"
#include "walrelay/config/format.h"
#include "walrelay/config/route.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// SimpleHeaderConverter writes any value as text.
absl::StatusOr<OptionalBytes> HeaderValue(pgoutput::Tuple row, const BoundColumn& column,
                                          Arena& arena) {
  if (column.shape == nullptr) {
    return BytesOf(row, column, arena);
  }
  const Schema& schema = *column.shape->schema;
  WR_ASSIGN_OR_RETURN(const Datum datum, DatumOf(row, column, arena));
  const Datum& seen = OrDefault(schema, datum);
  return seen.is_null() ? OptionalBytes() : TextOf(column, seen, arena);
}

}  // namespace

absl::StatusOr<std::span<const Header>> RecordHeaders::Build(pgoutput::Tuple row,
                                                             const TableBinding& table,
                                                             std::optional<WallTime> commit_time,
                                                             Arena& arena) {
  headers_.clear();
  if (format_->context_headers && !table.of_messages) {
    AddContext();
  }
  WR_RETURN_IF_ERROR(AddTraceContext(row, table, arena));
  if (table.id.present()) {
    WR_RETURN_IF_ERROR(Add(row, "id", table.id, arena));
  }
  if (table.event_type.present()) {
    WR_RETURN_IF_ERROR(Add(row, "event_type", table.event_type, arena));
  }
  if (table.trace_id.present()) {
    WR_RETURN_IF_ERROR(Add(row, "trace_id", table.trace_id, arena));
  }
  for (const TableBinding::NamedColumn& header : table.headers) {
    WR_RETURN_IF_ERROR(Add(row, header.name, header.column, arena));
  }
  if (commit_time && !route_->commit_time_header.empty()) {
    AddCommitTime(*commit_time);
  }
  return headers_;
}

// Debezium's own context, before all other headers.
void RecordHeaders::AddContext() {
  headers_.push_back({"__debezium.context.connectorLogicalName", format_->schema_prefix});
  headers_.push_back({"__debezium.context.taskId", "0"});
  headers_.push_back({"__debezium.context.connectorName", "postgresql"});
  headers_.push_back({"__debezium.context.runId", run_id_});
}

absl::Status RecordHeaders::Add(pgoutput::Tuple row, std::string_view name,
                                const BoundColumn& column, Arena& arena) {
  WR_ASSIGN_OR_RETURN(const OptionalBytes value, HeaderValue(row, column, arena));
  headers_.push_back({name, value});
  return absl::OkStatus();
}

// The writer's context, unchanged. OpenTelemetry requires that a context created for a message be
// preserved, so walrelay adds no span of its own. Dedicated columns take precedence over Debezium's
// column.
absl::Status RecordHeaders::AddTraceContext(pgoutput::Tuple row, const TableBinding& table,
                                            Arena& arena) {
  OptionalBytes properties;
  if (table.span_context.present()) {
    WR_ASSIGN_OR_RETURN(properties, BytesOf(row, table.span_context, arena));
  }
  for (const auto& [name, column] :
       {std::pair("traceparent", &table.traceparent), std::pair("tracestate", &table.tracestate)}) {
    OptionalBytes value;
    if (column->present()) {
      WR_ASSIGN_OR_RETURN(value, BytesOf(row, *column, arena));
    }
    if (!value && properties) {
      value = PropertyIn(*properties, name, arena);
    }
    if (value) {
      headers_.push_back({name, value});
    }
  }
  return absl::OkStatus();
}

// The rows of a transaction share the text.
void RecordHeaders::AddCommitTime(WallTime commit_time) {
  if (shown_time_ != commit_time) {
    commit_time_text_.clear();
    AppendRfc3339(commit_time, commit_time_text_);
    shown_time_ = commit_time;
  }
  headers_.push_back({route_->commit_time_header, commit_time_text_});
}

}  // namespace walrelay
