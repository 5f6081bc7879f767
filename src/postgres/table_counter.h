// TableCounter: counts the rows of the outbox tables at an interval, for the sampler.
//
// It spends at most one percent of the time on it: a count that took long postpones the next one.
// Used by one thread.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "metrics/metrics.h"
#include "outbox/table_reading.h"
#include "postgres/connection.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"
#include "walrelay/replication_source.h"
#include "walrelay/xid_horizon.h"

namespace walrelay {

struct MetricsConfig;
struct SourceConfig;

class TableCounter {
 public:
  struct Callbacks {
    // False: another instance publishes the tables, and counts them.
    std::function<bool()> is_publisher;
    // The progress that proves which rows are published; nullopt: nothing is proven.
    std::function<std::optional<Progress>()> published;
    // The tables that exist, in configured order. Empty when another instance has taken over.
    std::function<void(std::vector<TableReading>)> counted;
  };

  // The references must outlive it.
  TableCounter(const SourceConfig& source, const MetricsConfig& intervals, const Clock& clock,
               Metrics& metrics, Callbacks callbacks);

  // Counts if the interval has passed. `earlier`: the sample of the slot before this one had it, on
  // this connection; absent on a standby server. `tables`: in configured order.
  absl::Status Turn(PgConnection& connection, const std::vector<TableInfo>& tables,
                    const std::optional<XidReading>& earlier, Micros timeout);

 private:
  absl::Status Count(PgConnection& connection, const std::vector<TableInfo>& tables,
                     const std::optional<XidReading>& earlier, Micros timeout);
  void SetGauges(const TableReading& table);
  void Clear();

  const SourceConfig& source_;
  const MetricsConfig& intervals_;
  const Clock& clock_;
  Metrics& metrics_;
  Callbacks callbacks_;
  MonoTime due_;
  bool shows_ = false;  // figures are on display
};

}  // namespace walrelay
