// SlotCopyWatch: asks the standbys of source.dsn at intervals whether the slot would survive a
// failover to them, on a thread and connections of its own.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/worker_thread.h"
#include "metrics/metrics.h"
#include "slot/slot_copy.h"

namespace walrelay {

struct MetricsConfig;
struct SourceConfig;

class SlotCopyWatch {
 public:
  // Called on the thread; must not block.
  using Reported = std::function<void(std::vector<SlotCopy>)>;

  // All arguments must outlive it. Starts the thread if the DSN has several hosts. A change is
  // logged, and each reading reported. Its end interrupts a connection that is being made.
  SlotCopyWatch(const SourceConfig& source, const MetricsConfig& intervals, Metrics& metrics,
                Reported reported);

 private:
  void Run();
  void Report(std::vector<SlotCopy> copies);

  const SourceConfig& source_;
  const MetricsConfig& intervals_;
  Metrics& metrics_;
  Reported reported_;
  std::map<std::string, SlotCopy> logged_;  // by host, as logged last
  WorkerThread worker_;                     // last
};

}  // namespace walrelay
