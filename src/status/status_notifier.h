// StatusNotifier: reports the state of the pipelines to the service manager and to the log.
//
// The watchdog receives a heartbeat as long as the thread of every pipeline runs. The heartbeat
// does not mean that events flow: a restart of the process would fix neither Postgres nor Kafka.
// While a pipeline catches up, the log gets a line every ten seconds; a terminal gets one line that
// is updated in place. Single-threaded; the boards are read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "status/status_board.h"
#include "status/systemd_notifier.h"
#include "walrelay/clock.h"
#include "walrelay/pipeline_identity.h"

namespace walrelay {

// A pipeline to report on.
struct ReportedPipeline {
  std::string name;  // "": the only pipeline of the process
  PipelineIdentity identity;
  std::shared_ptr<const StatusBoard> board;
  bool running = true;  // it has a thread
};

class StatusNotifier {
 public:
  // `clock` must outlive the notifier. Notifications begin with the first call of OnTurn().
  // Takes over the socket of `manager`.
  StatusNotifier(SystemdNotifier manager, const Clock& clock);

  // Call it at least once per interval(); cheap until the next notification is due. Sends READY=1
  // once the first connection attempt of every pipeline has completed, successful or not. Never
  // blocks on systemd. Also reports suppressed log lines (LogSuppressed()).
  void OnTurn(const std::vector<ReportedPipeline>& pipelines);
  // A second, or a quarter of the watchdog's interval if that is shorter.
  Micros interval() const;
  // Whether OnTurn() has something to do.
  bool due() const { return clock_.Now() >= due_; }

  // The process stops: STOPPING=1, with an extension of the service manager's timeout. Only the
  // first call counts.
  void OnStopping(Micros drain_timeout);

 private:
  // To the service manager: readiness, heartbeat, status line.
  void NotifyState(const std::vector<ReportedPipeline>& pipelines);
  // To the log, while a pipeline catches up.
  void NotifyProgress(const ReportedPipeline& pipeline);

  const SystemdNotifier manager_;
  const Clock& clock_;
  MonoTime due_;  // next read of the boards
  bool ready_ = false;
  bool stopping_ = false;
  std::string last_status_;                        // last STATUS sent
  std::map<std::string, MonoTime> progress_sent_;  // by pipeline, while it catches up
};

// Logs the full state; an operator requests it with a signal.
void LogStatusOf(const ReportedPipeline& pipeline);

// A relay's state in one line, as shown by `systemctl status`.
// At most about 300 bytes, escaped. Has the code and the title of an error, not its message.
std::string StatusLine(const RelayStatus& status);
// The same for all pipelines of a process: how many are ready, and one that is not.
std::string StatusLine(const std::vector<ReportedPipeline>& pipelines);

}  // namespace walrelay
