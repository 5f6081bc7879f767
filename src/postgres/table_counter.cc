#include "postgres/table_counter.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "outbox/row_classes.h"
#include "outbox/table_health.h"
#include "postgres/table_reader.h"
#include "walrelay/config/metrics.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr int kShare = 100;  // of the time: one percent

using TableGauge = LabelledMetric<prometheus::Gauge>;

// A value that is not known removes its series: 0 would look like a measurement.
void SetOrRemove(TableGauge& gauge, const std::string& table, std::optional<double> value) {
  if (value) {
    gauge[table].Set(*value);
  } else {
    gauge.Remove(table);
  }
}

std::optional<double> RowsOf(const std::optional<RowCount>& count) {
  return count ? std::optional(static_cast<double>(count->rows)) : std::nullopt;
}

double SecondsOf(Micros time) {
  return std::max(0.0, std::chrono::duration<double>(time).count());
}

// 0 and not absent if every row is published.
std::optional<double> OldestOf(const TableReading& table) {
  if (table.unpublished && table.unpublished->rows == 0) {
    return 0;
  }
  return table.oldest_unpublished ? std::optional(SecondsOf(*table.oldest_unpublished))
                                  : std::nullopt;
}

}  // namespace

TableCounter::TableCounter(const SourceConfig& source, const MetricsConfig& intervals,
                           const Clock& clock, Metrics& metrics, Callbacks callbacks)
    : source_(source),
      intervals_(intervals),
      clock_(clock),
      metrics_(metrics),
      callbacks_(std::move(callbacks)),
      due_(clock.Now()) {}

absl::Status TableCounter::Turn(PgConnection& connection, const std::vector<TableInfo>& tables,
                                const std::optional<XidReading>& earlier, Micros timeout) {
  const Micros interval = intervals_.table_count_interval;
  const MonoTime begun = clock_.Now();
  if (interval == Micros(0) || begun < due_) {
    return absl::OkStatus();
  }
  if (!callbacks_.is_publisher()) {
    Clear();
    return absl::OkStatus();
  }
  const absl::Status status = Count(connection, tables, earlier, timeout);
  due_ = begun + std::max(interval, kShare * (clock_.Now() - begun));
  return status;
}

absl::Status TableCounter::Count(PgConnection& connection, const std::vector<TableInfo>& tables,
                                 const std::optional<XidReading>& earlier, Micros timeout) {
  RowKnowledge knowledge{.classes = {}, .as_of = {}, .origin = source_.origin};
  if (const auto published = callbacks_.published(); published && earlier) {
    knowledge.classes = RowClassesOf(*published, *earlier);
    knowledge.as_of = earlier->horizon.taken;
  }
  WR_ASSIGN_OR_RETURN(std::vector<TableReading> readings,
                      ReadTables(connection, tables, knowledge, timeout));
  for (const TableReading& table : readings) {
    SetGauges(table);
  }
  shows_ = true;
  callbacks_.counted(std::move(readings));
  return absl::OkStatus();
}

void TableCounter::SetGauges(const TableReading& table) {
  const std::string name = fmt::format("{}.{}", table.schema, table.name);
  SetOrRemove(metrics_.table_rows, name, RowsOf(table.rows));
  SetOrRemove(metrics_.table_unpublished_rows, name, RowsOf(table.unpublished));
  SetOrRemove(metrics_.table_oldest_unpublished_age, name, OldestOf(table));
  SetOrRemove(metrics_.table_unproven_rows, name, RowsOf(table.unproven));
  SetOrRemove(metrics_.table_unsent_rows, name, RowsOf(table.unsent));
  SetOrRemove(metrics_.table_size_bytes, name, static_cast<double>(table.size.total_bytes));
  const auto wasted = WastedBytes(table);
  SetOrRemove(metrics_.table_wasted_bytes, name,
              wasted ? std::optional(static_cast<double>(*wasted)) : std::nullopt);
  SetOrRemove(metrics_.table_dead_rows, name, static_cast<double>(table.size.dead_rows));
  SetOrRemove(metrics_.table_counted_timestamp, name,
              SecondsOf(clock_.WallNow().time_since_epoch()));
}

void TableCounter::Clear() {
  if (!std::exchange(shows_, false)) {
    return;
  }
  for (TableGauge* gauge :
       {&metrics_.table_rows, &metrics_.table_unpublished_rows,
        &metrics_.table_oldest_unpublished_age, &metrics_.table_unproven_rows,
        &metrics_.table_unsent_rows, &metrics_.table_size_bytes, &metrics_.table_wasted_bytes,
        &metrics_.table_dead_rows, &metrics_.table_counted_timestamp}) {
    gauge->Clear();
  }
  callbacks_.counted({});
}

}  // namespace walrelay
