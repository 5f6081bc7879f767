// Announcer: tells the service manager and the log how the relay goes on.
//
// Called by the loop after each turn, so that what it says comes from the pipeline's own thread:
// when that hangs, the watchdog is not fed. (What it does not say is that events flow. To end the
// process would mend neither Postgres nor Kafka.) While the relay catches up, the log has a line
// each ten seconds, and a terminal one line that is kept up to date. Single-threaded.
#pragma once

#include <optional>
#include <string>

#include "base/service_manager.h"
#include "relay/status_board.h"
#include "walrelay/clock.h"

namespace walrelay {

class Announcer {
 public:
  // `clock` and `board` must outlive it. `drain_timeout`: how long stopping may take.
  Announcer(ServiceManager manager, const Clock& clock, const StatusBoard& board,
            Micros drain_timeout);

  void OnTurn();
  // The loop has ended, and the process will.
  void OnEnd();
  // The state in full, as a line of the log: what an operator asked for by a signal.
  void LogStatus() const;

 private:
  void TellState(const RelayStatus& status);
  void TellProgress(MonoTime now);

  const ServiceManager manager_;
  const Clock& clock_;
  const StatusBoard& board_;
  const Micros drain_timeout_;
  MonoTime due_;  // of the next look at the board
  bool ready_ = false;
  bool stopping_ = false;
  std::string told_;  // STATUS
  std::optional<MonoTime> progress_told_;
};

// A relay's state in one line, for `systemctl status`.
std::string StatusLine(const RelayStatus& status);

}  // namespace walrelay
