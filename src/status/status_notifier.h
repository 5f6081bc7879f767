// StatusNotifier: reports the relay's state to the service manager and to the log.
//
// The event loop calls it after each turn, so notifications come from the pipeline's own thread:
// when that thread hangs, the watchdog receives no heartbeat. The heartbeat does not mean that
// events flow: a restart of the process would fix neither Postgres nor Kafka. While the relay
// catches up, the log gets a line every ten seconds; a terminal gets one line that is updated in
// place. Single-threaded.
#pragma once

#include <optional>
#include <string>

#include "status/status_board.h"
#include "status/systemd_notifier.h"
#include "walrelay/clock.h"

namespace walrelay {

class StatusNotifier {
 public:
  // `clock` and `board` must outlive the notifier. `drain_timeout`: maximum duration of a drain.
  // Notifications begin with the first call of OnTurn().
  // Takes over the socket of `manager`.
  StatusNotifier(SystemdNotifier manager, const Clock& clock, const StatusBoard& board,
                 Micros drain_timeout);

  // Cheap until the next notification is due.
  // Due every second, or four times per watchdog interval if that is shorter. Sends READY=1 once
  // the first connection attempt has completed, successful or not, and STOPPING=1 with an extension
  // of the timeout when a drain begins. Never blocks on systemd. Also reports suppressed log lines
  // (LogSuppressed()).
  void OnTurn();
  // The loop has ended and the process is about to exit.
  // Reports that the service is stopping, unless a drain has done so already.
  void OnEnd();
  // Logs the full state; an operator requests it with a signal.
  void LogStatus() const;

 private:
  // To the service manager: readiness, heartbeat, status line.
  void NotifyState(const RelayStatus& status);
  // To the log, while the relay catches up.
  void NotifyProgress(MonoTime now);

  const SystemdNotifier manager_;
  const Clock& clock_;
  const StatusBoard& board_;
  const Micros drain_timeout_;
  MonoTime due_;  // next read of the board
  bool ready_ = false;
  bool stopping_ = false;
  std::string told_;  // last STATUS sent
  std::optional<MonoTime> progress_told_;
};

// A relay's state in one line, as shown by `systemctl status`.
// At most about 300 bytes, escaped. Has the code and the title of an error, not its message.
std::string StatusLine(const RelayStatus& status);

}  // namespace walrelay
