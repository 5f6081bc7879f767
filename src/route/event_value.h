// EventValue: the value of a record, from the payload and what the configuration puts around it.
//
// Raw: the payload's bytes as they stand. In one of Connect's formats: the payload as Debezium
// shows it, its JSON expanded where that is configured, in an envelope with further columns where
// there are placements for one. Not thread-safe; no I/O.
//
// Source: io.debezium.transforms.outbox.EventRouterDelegate.
#pragma once

#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/arena.h"
#include "encode/column_value.h"
#include "encode/json_document.h"
#include "encode/row_limits.h"
#include "encode/schema.h"
#include "pgoutput/message.h"
#include "route/table_binding.h"
#include "walrelay/config.h"

namespace walrelay {

class EventValue {
 public:
  // Both references must outlive it.
  EventValue(const RouteConfig& route, const FormatConfig& format, const RowLimits& limits)
      : route_(&route),
        format_(&format),
        message_format_(format),
        limits_(limits),
        document_(limits.json_values) {
    message_format_.json_nulls = format.message_nulls;
  }

  // nullopt: a tombstone. The result points into the row, the arena or this object, and lives until
  // the next call. Errors: WR-3006 for JSON beyond the limits, WR-3007 for a payload that the
  // format has no bytes for.
  absl::StatusOr<OptionalBytes> Encode(pgoutput::Tuple row, const TableBinding& table,
                                       std::string_view aggregate_type, Arena& arena);

 private:
  // The payload as Debezium hands it on.
  struct Shown {
    SchemaPtr schema;  // nullptr: a value without one
    Datum datum;
    bool fits = true;  // false: the text has a schema that is not its own
  };

  absl::StatusOr<Shown> Show(pgoutput::Tuple row, const TableBinding& table, Arena& arena);
  absl::Status ExpandInto(const TableBinding& table, Shown& shown);
  absl::Status ExpandMember(const TableBinding& table, Shown& shown);
  absl::StatusOr<Shown> Wrap(pgoutput::Tuple row, const TableBinding& table,
                             std::string_view aggregate_type, Shown payload, Arena& arena);
  absl::StatusOr<std::string> EnvelopeName(const TableBinding& table,
                                           std::string_view aggregate_type, const Schema& payload,
                                           std::optional<int32_t> version);

  // The name that the first envelope of its kind was given.
  struct Envelope {
    std::string name;
    std::string payload_schema;
  };

  const RouteConfig* route_;
  const FormatConfig* format_;
  FormatConfig message_format_;  // what holds for members of a message
  RowLimits limits_;
  JsonDocument document_;
  absl::flat_hash_map<std::string, Envelope> envelopes_;
  size_t envelope_bytes_ = 0;
  std::string out_;
};

}  // namespace walrelay
