#include "status/status_notifier.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// More often than a watchdog needs, seldom enough to cost nothing.
constexpr Micros kPollInterval = std::chrono::seconds(1);
// Between two lines about a backlog in a log file.
constexpr Micros kBetweenProgress = std::chrono::seconds(10);
// A turn of a relay takes milliseconds; only connecting blocks its thread, for some seconds.
constexpr Micros kLongestTurn = std::chrono::seconds(10);
// After the drain the process closes connections and the log.
constexpr Micros kBeyondDrain = std::chrono::seconds(10);

}  // namespace

// At most 300 bytes: systemctl shows one line.
std::string StatusLine(const RelayStatus& status) {
  std::string line(NameOf(status.state));
  if (!status.error.ok()) {
    line += fmt::format(": {} {}", ToString(CodeOf(status.error)),
                        Describe(CodeOf(status.error)).title);
  } else if (status.figures.acknowledged > 0) {
    line += fmt::format(": {} events acknowledged", status.figures.acknowledged);
  }
  if (status.figures.records_in_flight > 0) {
    line += fmt::format(", {} in flight", status.figures.records_in_flight);
  }
  if (!status.waits_for.empty()) {
    line += fmt::format("; waits for {}", status.waits_for);
  }
  return Printable(line, 300);
}

std::string StatusLine(const std::vector<ReportedPipeline>& pipelines) {
  if (pipelines.size() == 1 && pipelines[0].name.empty()) {
    return StatusLine(pipelines[0].board->Read());
  }
  const auto unready = [](const ReportedPipeline& each) { return !each.board->ready(); };
  const auto count = std::count_if(pipelines.begin(), pipelines.end(), unready);
  std::string line = fmt::format("{} of {} pipelines ready",
                                 pipelines.size() - static_cast<size_t>(count), pipelines.size());
  if (const auto first = std::find_if(pipelines.begin(), pipelines.end(), unready);
      first != pipelines.end()) {
    line += fmt::format("; {}: {}", first->name, StatusLine(first->board->Read()));
  }
  return Printable(line, 300);
}

StatusNotifier::StatusNotifier(SystemdNotifier manager, const Clock& clock)
    : manager_(std::move(manager)), clock_(clock), due_(clock.Now()) {}

// A quarter of the watchdog's time: three notifications may be late.
Micros StatusNotifier::interval() const {
  return std::min(kPollInterval, manager_.watchdog().value_or(kPollInterval) / 4);
}

void StatusNotifier::OnTurn(const std::vector<ReportedPipeline>& pipelines) {
  if (!due()) {
    return;
  }
  due_ = clock_.Now() + interval();
  NotifyState(pipelines);
  for (const ReportedPipeline& pipeline : pipelines) {
    NotifyProgress(pipeline);
  }
  // Writes the counts of suppressed lines also when no further line of their kind follows.
  LogSuppressed();
}

void StatusNotifier::OnStopping(Micros drain_timeout) {
  if (!std::exchange(stopping_, true)) {
    // Without the extension systemd kills the process after TimeoutStopSec, in the middle of the
    // drain.
    manager_.Notify(fmt::format("STOPPING=1\nEXTEND_TIMEOUT_USEC={}\n",
                                (drain_timeout + kBeyondDrain).count()));
  }
}

// Ready once the first connection attempts have completed, as for /startupz: an unavailable
// database at boot is not a failure of this service; the relay retries.
void StatusNotifier::NotifyState(const std::vector<ReportedPipeline>& pipelines) {
  // Not started by systemd with Type=notify.
  if (!manager_.listens()) {
    return;
  }
  const MonoTime now = clock_.Now();
  // If the thread of a pipeline hangs, the heartbeats stop and systemd restarts the service.
  const bool alive = std::all_of(pipelines.begin(), pipelines.end(), [&](const auto& each) {
    return !each.running || now - each.board->last_beat() < kLongestTurn;
  });
  std::string text = manager_.watchdog() && alive ? "WATCHDOG=1\n" : "";
  const bool started = std::all_of(pipelines.begin(), pipelines.end(), [](const auto& each) {
    return !each.running || each.board->Read().state != RelayState::kStarting;
  });
  if (started && !ready_) {
    ready_ = true;
    text += "READY=1\n";
  }
  // Only changes: most of the time the line is the same.
  if (std::string line = StatusLine(pipelines); line != last_status_) {
    text += fmt::format("STATUS={}\n", line);
    last_status_ = std::move(line);
  }
  if (!text.empty()) {
    manager_.Notify(text);
  }
}

void StatusNotifier::NotifyProgress(const ReportedPipeline& pipeline) {
  const LogScope scope(pipeline.identity);
  if (pipeline.board->Read().state != RelayState::kCatchingUp) {
    // The next backlog is reported at once.
    progress_sent_.erase(pipeline.name);
    return;
  }
  // On a terminal, progress is one line that is updated in place.
  const MonoTime now = clock_.Now();
  const auto told = progress_sent_.find(pipeline.name);
  if (told != progress_sent_.end() && now - told->second < kBetweenProgress &&
      !LogReplacesProgress()) {
    return;
  }
  progress_sent_[pipeline.name] = now;
  // The lag is known from the sampler's connection. Before its first sample there is nothing to
  // report.
  const auto slot = pipeline.board->slot();
  if (!slot || !slot->exists) {
    return;
  }
  std::string text = fmt::format("catching up: {} behind", HumanBytes(slot->lag_bytes()));
  if (slot->confirmed_bytes_per_second) {
    text +=
        fmt::format(", {}/s", HumanBytes(static_cast<uint64_t>(*slot->confirmed_bytes_per_second)));
  }
  if (slot->time_until_caught_up) {
    text += fmt::format(", about {} left", FormatDuration(*slot->time_until_caught_up));
  }
  LogProgress(
      "catching_up", text,
      {{"lag_bytes", slot->lag_bytes()},
       {"lag_seconds", std::chrono::duration<double>(slot->lag_age.value_or(Micros(0))).count()},
       {"acknowledged", pipeline.board->Read().figures.acknowledged}});
}

// With all figures: it is requested when a page cannot be opened.
void LogStatusOf(const ReportedPipeline& pipeline) {
  const LogScope scope(pipeline.identity);
  const StatusSnapshot snapshot = pipeline.board->Snapshot();
  const RelayFigures& figures = snapshot.relay.figures;
  LogInfo("status", StatusLine(snapshot.relay),
          {{"state", NameOf(snapshot.relay.state)},
           {"acknowledged", figures.acknowledged},
           {"in_flight", figures.records_in_flight},
           {"received", figures.received},
           {"frontier", figures.frontier},
           {"lag_bytes", snapshot.slot ? snapshot.slot->lag_bytes() : 0},
           {"retained_bytes", snapshot.slot ? snapshot.slot->retained_bytes() : 0}});
}

}  // namespace walrelay
