// RelayProcess: the relay process of the demonstration, `walrelay run --events json`. It can be
// killed with SIGKILL and restarted.
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
struct PublishedEvent {
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
  static std::string Program();

  absl::Status Start();
  void Kill();
  // Sends SIGTERM and waits until the relay has drained and confirmed. Returns the exit code.
  int Stop();
  bool running();
  pid_t pid() const { return child_ ? child_->pid() : -1; }

  // Reads the printed events; waits at most `wait` if there are none yet.
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
