#include "status/announcer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr Micros kBetweenLooks = std::chrono::seconds(1);
constexpr Micros kBetweenProgress = std::chrono::seconds(10);
constexpr Micros kBeyondDrain = std::chrono::seconds(10);

}  // namespace

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

Announcer::Announcer(ServiceManager manager, const Clock& clock, const StatusBoard& board,
                     Micros drain_timeout)
    : manager_(std::move(manager)),
      clock_(clock),
      board_(board),
      drain_timeout_(drain_timeout),
      due_(clock.Now()) {}

void Announcer::OnTurn() {
  const MonoTime now = clock_.Now();
  if (now < due_) {
    return;
  }
  due_ = now + std::min(kBetweenLooks, manager_.watchdog().value_or(kBetweenLooks) / 4);
  const RelayStatus status = board_.Read();
  TellState(status);
  if (status.state == RelayState::kCatchingUp) {
    TellProgress(now);
  } else {
    progress_told_.reset();
  }
  TellSuppressed();
}

void Announcer::OnEnd() {
  if (!stopping_) {
    manager_.Tell("STOPPING=1\n");
  }
}

// Ready once the first connection attempt has completed, as for /startupz: an unavailable database
// at boot is not a failure of this service; the relay retries.
void Announcer::TellState(const RelayStatus& status) {
  if (!manager_.listens()) {
    return;
  }
  std::string text = manager_.watchdog() ? "WATCHDOG=1\n" : "";
  if (!ready_ && status.state != RelayState::kStarting) {
    ready_ = true;
    text += "READY=1\n";
  }
  if (!stopping_ &&
      (status.state == RelayState::kDraining || status.state == RelayState::kStopped)) {
    stopping_ = true;
    text += fmt::format("STOPPING=1\nEXTEND_TIMEOUT_USEC={}\n",
                        (drain_timeout_ + kBeyondDrain).count());
  }
  if (std::string line = StatusLine(status); line != told_) {
    text += fmt::format("STATUS={}\n", line);
    told_ = std::move(line);
  }
  if (!text.empty()) {
    manager_.Tell(text);
  }
}

void Announcer::TellProgress(MonoTime now) {
  // On a terminal, progress is one line that is updated in place.
  if (progress_told_ && now - *progress_told_ < kBetweenProgress && !LogsToTerminal()) {
    return;
  }
  progress_told_ = now;
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
    text += fmt::format(", about {} left", HumanDuration(*slot->time_until_caught_up));
  }
  LogProgress("catching_up", text,
              {{"lag_bytes", slot->lag_bytes()},
               {"lag_seconds", std::chrono::duration<double>(slot->lag_age).count()},
               {"acknowledged", board_.Read().figures.acknowledged}});
}

void Announcer::LogStatus() const {
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
