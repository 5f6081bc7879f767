// RecordHeaders: builds the headers of a record from a row.
//
// The W3C trace context, then `id`, `event_type` and `trace_id` where the columns exist, then the
// placements in configuration order, then the time of the commit. Debezium's own context precedes
// all others if it is configured. Each value is raw bytes, or text as Connect's
// SimpleHeaderConverter writes it. Not thread-safe; no I/O. Allocates nothing per row in steady
// state, in raw format.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/arena.h"
#include "encode/column_value.h"
#include "pgoutput/message.h"
#include "route/table_binding.h"
#include "walrelay/clock.h"
#include "walrelay/record.h"

namespace walrelay {

struct FormatConfig;
struct RouteConfig;

class RecordHeaders {
 public:
  // The references must outlive this object. `run_id` is used in the context headers.
  RecordHeaders(const RouteConfig& route, const FormatConfig& format, std::string run_id)
      : route_(&route), format_(&format), run_id_(std::move(run_id)) {}

  // The headers of a row's record. They point into the row, the binding, the arena and this object,
  // and are valid until the next call. Errors: those of a column's value.
  // REQUIRES: `row` has the number of columns of `table`, and table.status is OK. `arena` belongs
  // to the caller, who clears it between rows. `commit_time`: nullopt if it is unknown.
  absl::StatusOr<std::span<const Header>> Build(pgoutput::Tuple row, const TableBinding& table,
                                                std::optional<WallTime> commit_time, Arena& arena);

 private:
  // Each appends to headers_.
  void AddContext();
  absl::Status Add(pgoutput::Tuple row, std::string_view name, const BoundColumn& column,
                   Arena& arena);
  absl::Status AddTraceContext(pgoutput::Tuple row, const TableBinding& table, Arena& arena);
  void AddCommitTime(WallTime commit_time);

  const RouteConfig* route_;
  const FormatConfig* format_;
  std::string run_id_;
  std::vector<Header> headers_;         // of the record that was built last
  std::optional<WallTime> shown_time_;  // the time that commit_time_text_ shows
  std::string commit_time_text_;
};

}  // namespace walrelay
