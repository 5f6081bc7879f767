#include "postgres/slot_copy_watch.h"

#include <utility>

#include "absl/status/status.h"
#include "base/log.h"
#include "postgres/connection_parameters.h"
#include "postgres/slot_copies.h"
#include "walrelay/config/metrics.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Each reading is a login on every host.
constexpr int kIntervals = 6;  // of metrics.slot_poll_interval: 30 s by default

bool HasSeveralHosts(const SourceConfig& source) {
  const auto parameters = MakeConnectionParameters(source, ConnectionPurpose::kSql);
  return parameters.ok() && EachHost(*parameters).size() > 1;
}

void LogCopy(const SlotCopy& copy) {
  if (copy.survives()) {
    LogInfo("slot_copy", "the slot would survive a failover to this standby",
            {{"host", copy.host}, {"confirmed", copy.confirmed}});
  } else if (!copy.unreachable.ok()) {
    LogStatus(LogLevel::kWarning, "slot_copy", copy.unreachable, {{"host", copy.host}});
  } else {
    LogWarning("slot_copy", "the slot would not survive a failover to this standby",
               {{"host", copy.host},
                {"problem", copy.problems.front().text},
                {"remedy", copy.problems.front().remedy}});
  }
}

}  // namespace

SlotCopyWatch::SlotCopyWatch(const SourceConfig& source, const MetricsConfig& intervals,
                             Metrics& metrics, Reported reported)
    : source_(source), intervals_(intervals), metrics_(metrics), reported_(std::move(reported)) {
  if (HasSeveralHosts(source_)) {
    worker_.Start([this] { Run(); });
  }
}

// An error of the DSN, or of its password command, is the sampler's to report.
void SlotCopyWatch::Run() {
  do {
    auto copies = ReadSlotCopies(source_, worker_.stop_fd());
    if (absl::IsCancelled(copies.status())) {
      return;
    }
    if (copies.ok()) {
      Report(*std::move(copies));
    }
  } while (worker_.Rest(kIntervals * intervals_.slot_poll_interval));
}

// One line for each change. The copy's position changes all the time.
void SlotCopyWatch::Report(std::vector<SlotCopy> copies) {
  std::map<std::string, SlotCopy> now;
  for (const SlotCopy& copy : copies) {
    metrics_.slot_copy_ready[copy.host].Set(copy.survives() ? 1 : 0);
    const auto before = logged_.find(copy.host);
    if (before == logged_.end() || before->second.problems != copy.problems ||
        before->second.unreachable != copy.unreachable) {
      LogCopy(copy);
    }
    now.insert_or_assign(copy.host, copy);
  }
  for (const auto& [host, copy] : logged_) {
    if (!now.contains(host)) {
      metrics_.slot_copy_ready.Remove(host);  // promoted
    }
  }
  logged_ = std::move(now);
  reported_(std::move(copies));
}

}  // namespace walrelay
