// EventValue: builds the value of a record from the payload and the configured envelope.
//
// Raw format: the payload's bytes, unchanged. Connect formats: the payload as Debezium represents
// it, its JSON expanded if configured, in an envelope with further columns if there are placements
// for one. Not thread-safe; no I/O.
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
#include "walrelay/config/format.h"

namespace walrelay {

struct RouteConfig;

// In Connect formats the result equals what Kafka Connect's converter writes for Debezium's value.
class EventValue {
 public:
  // All references must outlive this object.
  // `limits` is copied.
  EventValue(const RouteConfig& route, const FormatConfig& format, const RowLimits& limits)
      : route_(&route),
        format_(&format),
        message_format_(format),
        limits_(limits),
        document_(limits.json_values) {
    message_format_.json_nulls = format.message_nulls;
  }

  // nullopt: a tombstone. The result points into the row, the arena or this object, and is valid
  // until the next call. Errors: WR-3006 for JSON beyond the limits, WR-3007 for a payload that the
  // format does not support.
  // REQUIRES: `row` has the number of columns of `table`, and table.status is OK. `arena` belongs
  // to the caller, who clears it between rows. An envelope counts as the first of its kind even if
  // the result is a tombstone.
  absl::StatusOr<OptionalBytes> Encode(pgoutput::Tuple row, const TableBinding& table,
                                       std::string_view aggregate_type, Arena& arena);

 private:
  // The payload as Debezium passes it on.
  struct Shown {
    SchemaPtr schema;  // nullptr: a value without one
    Datum datum;
    bool fits = true;  // false: the schema does not match the text
  };

  // The payload's column as Debezium represents it, expanded if that is configured.
  absl::StatusOr<Shown> BuildPayload(pgoutput::Tuple row, const TableBinding& table, Arena& arena);
  // Text that is not JSON stays text.
  absl::Status ExpandInto(const TableBinding& table, Shown& shown);
  // Expands a member of a message, which has no text of its own.
  absl::Status ExpandMember(const TableBinding& table, Shown& shown);
  // A struct of the payload and the columns that are placed in the envelope.
  absl::StatusOr<Shown> BuildEnvelope(pgoutput::Tuple row, const TableBinding& table,
                                      std::string_view aggregate_type, Shown payload, Arena& arena);
  // The first envelope of a kind names the later ones, as Debezium's cache does.
  absl::StatusOr<std::string> EnvelopeName(const TableBinding& table,
                                           std::string_view aggregate_type, const Schema& payload,
                                           std::optional<int32_t> version);

  // The name of the first envelope of its kind.
  struct Envelope {
    std::string name;
    std::string payload_schema;
  };

  const RouteConfig* route_;
  const FormatConfig* format_;
  FormatConfig message_format_;  // the settings for members of a message
  RowLimits limits_;
  JsonDocument document_;
  // By payload schema, or by version. Bounded: see kMaxEnvelopeBytes.
  absl::flat_hash_map<std::string, Envelope> envelopes_;
  size_t envelope_bytes_ = 0;
  // The converted value, until the next call.
  std::string out_;
};

}  // namespace walrelay
