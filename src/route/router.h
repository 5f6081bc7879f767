// Router: builds a Kafka record from a row of an outbox table.
//
// The topic comes from the aggregate type, the key from the aggregate id, the value from the
// payload (event_value.h), the headers from further columns (record_headers.h). Each part is raw
// bytes, or in one of Connect's formats. The router identifies the outbox tables of the session by
// OID, as looked up at connect (a rename does not stop events), and by name (a table that was
// dropped and recreated since then has rows under its old OID in the WAL).
//
// A row that cannot be routed is an error with a code of block 3; the caller decides what happens
// to it. Not thread-safe; no I/O. Raw formats allocate nothing per row in steady state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/arena.h"
#include "encode/column_value.h"
#include "encode/row_limits.h"
#include "pgoutput/message.h"
#include "pgoutput/relation_cache.h"
#include "route/event_value.h"
#include "route/record_headers.h"
#include "route/table_binding.h"
#include "route/topic_router.h"
#include "walrelay/record.h"
#include "walrelay/replication_source.h"

namespace walrelay {

struct Config;
struct FormatConfig;
struct RouteConfig;
struct SourceConfig;

class Router {
 public:
  // Creates the router of a configuration. Route() refuses a row that addresses one of its
  // ReservedTopics(). All references must outlive the router. `run_id` is used in the context
  // headers. Errors: WR-1003 (ConfigValue).
  static absl::StatusOr<Router> Create(const Config& config, std::string run_id);
  // Creates a router from parts of a configuration, without topics that are reserved by name. The
  // default for `limits` is that of the default configuration.
  static absl::StatusOr<Router> Create(const SourceConfig& source, const RouteConfig& route,
                                       const FormatConfig& format = RawFormats(),
                                       std::string run_id = {},
                                       const RowLimits& limits = DefaultLimits());

  // A new session begins: discards all bindings. `tables` are the configured tables as the server
  // currently has them, in the same order.
  // REQUIRES: one entry for each configured table (WR_CHECK); a table that does not exist has oid
  // 0. `tables` is copied.
  void StartSession(std::span<const TableInfo> tables);

  // Processes a table's description. True if it is an outbox table.
  // A later description replaces the binding. A table that cannot be routed is an outbox table all
  // the same: its error is returned by Route().
  bool OnRelation(const pgoutput::CachedRelation& relation);
  // Whether the catalog described the table with these columns when the session began. True for a
  // table of which nothing is known.
  bool IsAsKnown(const pgoutput::CachedRelation& relation) const;
  // Whether the enums whose labels a schema lists had the row's labels then. False after ALTER TYPE
  // ADD VALUE or RENAME VALUE: the stream does not describe the table again.
  bool HasKnownLabels(uint32_t relation_oid, pgoutput::Tuple row) const;

  // Whether messages with this prefix are events. Their relation is kMessageRelation, with the
  // mapping of the first table.
  // False without source.message_prefixes.
  bool TakesMessages(std::string_view prefix) const;

  bool IsOutbox(uint32_t relation_oid) const { return bindings_.contains(relation_oid); }
  // Whether rows with the table's last description can be routed: WR-3001 or WR-3002 if not.
  // REQUIRES: IsOutbox().
  const absl::Status& StatusOf(uint32_t relation_oid) const {
    return bindings_.at(relation_oid).status;
  }

  // The record of a row. REQUIRES: IsOutbox(). The result points into the row and into this router;
  // it is valid until the next call. Errors: WR-3001 to WR-3007.
  // Another number of columns than described is WR-2401. The record's timestamp is absent if the
  // producer is to set it (route.timestamp = "now"; `commit_time` would be it, and is unknown).
  // Does not check the partition against the topic: the producer knows its partition count.
  absl::StatusOr<Record> Route(uint32_t relation_oid, pgoutput::Tuple row,
                               std::optional<WallTime> commit_time);

  // The topic of a row's record, valid until the next call; nullopt if the row has none, for a
  // reason that Route() returns. REQUIRES: IsOutbox().
  std::optional<std::string_view> TopicOf(uint32_t relation_oid, pgoutput::Tuple row);

  // For messages about a row: "id=… key=…", truncated and escaped; never the payload.
  // "" for a table that is not bound; "?" for a part that the row does not have.
  std::string Identify(uint32_t relation_oid, pgoutput::Tuple row) const;
  // The row with the values that its table's transforms leave; NULL for one that has none. Valid
  // until the next call.
  pgoutput::Tuple PublishedRow(uint32_t relation_oid, pgoutput::Tuple row);
  // The aggregate id of a row, if it is readable and within the row limit.
  // In raw form, whatever the key's format. The view is valid like the result of Route(), which may
  // share its memory.
  OptionalBytes KeyOf(uint32_t relation_oid, pgoutput::Tuple row);

 private:
  Router(const SourceConfig& source, const RouteConfig& route, const FormatConfig& format,
         TopicRouter topics, std::string run_id, const RowLimits& limits)
      : source_(&source),
        route_(&route),
        format_(&format),
        topics_(std::move(topics)),
        limits_(limits),
        headers_(route, format, std::move(run_id)),
        value_(route, format, limits) {}
  static const FormatConfig& RawFormats();
  static RowLimits DefaultLimits();

  // The configured table that a description belongs to: by OID, otherwise by name.
  std::optional<size_t> FindTable(const pgoutput::CachedRelation& relation) const;
  // The binding of a row's table. Errors: those of the table, then those of the row's size.
  absl::StatusOr<const TableBinding*> BindingOf(uint32_t relation_oid, pgoutput::Tuple row) const;
  // WR-3006 for a row whose columns cannot fit into a record.
  absl::Status CheckSize(pgoutput::Tuple row, const TableBinding& table) const;
  // Each in the form that its format asks for; nullopt for NULL.
  absl::StatusOr<OptionalBytes> AggregateType(pgoutput::Tuple row, const BoundColumn& column);
  absl::StatusOr<OptionalBytes> Key(pgoutput::Tuple row, const BoundColumn& column);
  // Each sets the parts of the record that its name lists.
  absl::Status SetTopicAndKey(pgoutput::Tuple row, const TableBinding& table, Record& record);
  absl::Status SetPartitionAndTimestamp(pgoutput::Tuple row, const TableBinding& table,
                                        std::optional<WallTime> commit_time, Record& record);
  // Debezium's rules for a timestamp column differ from walrelay's: see the implementation.
  absl::StatusOr<std::optional<WallTime>> DebeziumsTimestamp(pgoutput::Tuple row,
                                                             const BoundColumn& column);

  const SourceConfig* source_;
  const RouteConfig* route_;
  const FormatConfig* format_;
  TopicRouter topics_;
  RowLimits limits_;
  RecordHeaders headers_;
  EventValue value_;
  std::vector<TableInfo> info_;  // in configuration order
  absl::flat_hash_map<uint32_t, size_t> tables_by_oid_;
  absl::flat_hash_map<uint32_t, TableBinding> bindings_;
  Arena arena_;  // of the record that was returned last
  std::vector<pgoutput::TupleValue> row_;
  std::string key_;
  std::string_view aggregate_type_;  // of the row being routed
};

}  // namespace walrelay
