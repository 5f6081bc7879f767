// RelayProcess: the relay process of the demonstration, `walrelay run --events json`. It can be
// killed with SIGKILL and restarted.
//
// Not thread-safe. The process is killed with SIGKILL when this object or the thread that started
// it ends.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "demo/child_process.h"
#include "walrelay/clock.h"

namespace walrelay {

// A line of `run --events json`.
// A missing field, or one of another type, is "" or 0; an invalid time is the epoch.
struct PublishedEvent {
  // The commit time, by the clock of Postgres.
  WallTime committed;
  Micros latency{0};  // commit to acknowledgement
  std::string topic;
  int64_t partition = 0;
  int64_t offset = 0;
  std::string key;
  std::vector<std::pair<std::string, std::string>> headers;
};

class RelayProcess {
 public:
  // `arguments` of `walrelay run`, and its environment variables; logs go to `log_file`. The relay
  // ignores other configuration: files in the working directory and inherited WALRELAY_ variables.
  RelayProcess(std::vector<std::string> arguments, std::vector<std::string> environment,
               std::string log_file);

  // The path of this program, which the process runs; also if it was started by a relative path.
  // Read from /proc/self/exe; "" if that is not readable.
  static std::string Program();

  // Also restarts it after Kill() or Stop(); a relay that still runs is then killed. Discards
  // an incomplete line of the previous process. Errors: those of ChildProcess::Start().
  absl::Status Start();
  // With SIGKILL, and waits for the exit. REQUIRES: Start() succeeded before.
  void Kill();
  // Sends SIGTERM and waits until the relay has drained and confirmed. Returns the exit code.
  // REQUIRES: Start() succeeded before. Blocks for as long as the relay drains
  // (pipeline.drain_timeout).
  int Stop();
  bool running();
  // -1 before the first start and after an exit that was observed.
  pid_t pid() const { return child_ ? child_->pid() : -1; }

  // Reads the printed events; waits at most `wait` if there are none yet.
  // Calls `handle` on the calling thread, for each complete line that is an event; other lines are
  // ignored. Returns when no more output is available, or at its end.
  void ReadEvents(Micros wait, const std::function<void(const PublishedEvent&)>& handle);

 private:
  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
  std::string log_file_;
  std::optional<ChildProcess> child_;
  std::string buffer_;
};

// nullopt for an invalid line.
std::optional<PublishedEvent> ParsePublishedEvent(const std::string& line);

}  // namespace walrelay
