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

StatusNotifier::StatusNotifier(SystemdNotifier manager, const Clock& clock,
                               const StatusBoard& board, Micros drain_timeout)
    : manager_(std::move(manager)),
      clock_(clock),
      board_(board),
      drain_timeout_(drain_timeout),
      due_(clock.Now()) {}

void StatusNotifier::OnTurn() {
  const MonoTime now = clock_.Now();
  if (now < due_) {
    return;
  }
  // A quarter of the watchdog's time: three notifications may be late.
  due_ = now + std::min(kPollInterval, manager_.watchdog().value_or(kPollInterval) / 4);
  const RelayStatus status = board_.Read();
  NotifyState(status);
  if (status.state == RelayState::kCatchingUp) {
    NotifyProgress(now);
  } else {
    // The next backlog is reported at once.
    progress_told_.reset();
  }
  // Writes the counts of suppressed lines also when no further line of their kind follows.
  LogSuppressed();
}

void StatusNotifier::OnEnd() {
  if (!stopping_) {
    manager_.Notify("STOPPING=1\n");
  }
}

// Ready once the first connection attempt has completed, as for /startupz: an unavailable database
// at boot is not a failure of this service; the relay retries.
void StatusNotifier::NotifyState(const RelayStatus& status) {
  // Not started by systemd with Type=notify.
  if (!manager_.listens()) {
    return;
  }
  // Sent from the event loop's own thread: if the loop hangs, the notifications stop and systemd
  // restarts the service.
  std::string text = manager_.watchdog() ? "WATCHDOG=1\n" : "";
  if (!ready_ && status.state != RelayState::kStarting) {
    ready_ = true;
    text += "READY=1\n";
  }
  if (!stopping_ &&
      (status.state == RelayState::kDraining || status.state == RelayState::kStopped)) {
    stopping_ = true;
    // Otherwise systemd kills the process after TimeoutStopSec, in the middle of the drain.
    text += fmt::format("STOPPING=1\nEXTEND_TIMEOUT_USEC={}\n",
                        (drain_timeout_ + kBeyondDrain).count());
  }
  // Only changes: most of the time the line is the same.
  if (std::string line = StatusLine(status); line != told_) {
    text += fmt::format("STATUS={}\n", line);
    told_ = std::move(line);
  }
  if (!text.empty()) {
    manager_.Notify(text);
  }
}

void StatusNotifier::NotifyProgress(MonoTime now) {
  // On a terminal, progress is one line that is updated in place.
  if (progress_told_ && now - *progress_told_ < kBetweenProgress && !LogsToTerminal()) {
    return;
  }
  progress_told_ = now;
  // The lag is known from the sampler's connection. Before its first sample there is nothing to
  // report.
  const auto slot = board_.slot();
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
  LogProgress("catching_up", text,
              {{"lag_bytes", slot->lag_bytes()},
               {"lag_seconds", std::chrono::duration<double>(slot->lag_age).count()},
               {"acknowledged", board_.Read().figures.acknowledged}});
}

// With all figures: it is requested when a page cannot be opened.
void StatusNotifier::LogStatus() const {
  const StatusSnapshot snapshot = board_.Snapshot();
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
