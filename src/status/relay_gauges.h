// RelayGauges: the metrics that show the state of a relay, as opposed to those that count.
//
// Single-threaded; other threads read the metrics.
#pragma once

#include "metrics/metrics.h"
#include "status/relay_view.h"
#include "status/status_board.h"

namespace walrelay {

class RelayGauges {
 public:
  // `metrics` must outlive it. The series that alerts rest on exist from now on: the first
  // connection may take long, and a process that starts during an outage must not silence them.
  explicit RelayGauges(Metrics& metrics);

  // Shows this state. Gauges that do not apply are removed rather than set to 0: an alert on 0
  // would fire on every standby.
  void Update(const RelayView& view, RelayState state);

 private:
  // Those of the process that holds the slot, or held it last.
  void UpdateLeader(const RelayView& view);
  void UpdateRecord(const std::optional<RelayView::Record>& record);
  // Removes the gauges that only the holder of the slot can report. Another instance may hold it
  // now, and reports them.
  void ClearLeader();

  Metrics& metrics_;
};

}  // namespace walrelay
