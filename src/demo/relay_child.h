// RelayChild: the relay of the demonstration, a process of its own: `walrelay run --events json`.
//
// It can be killed as hard as a process can be, and started again.
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
  std::string committed;  // RFC 3339
  Micros latency{0};      // commit to acknowledgement
  std::string topic;
  int64_t partition = 0;
  int64_t offset = 0;
  std::string key;
  std::vector<std::pair<std::string, std::string>> headers;
};

class RelayChild {
 public:
  // `arguments` of `walrelay run`, and variables for it; logs go to `log_file`. Nothing else
  // configures it: no file where it is run, and no variable for another relay.
  RelayChild(std::vector<std::string> arguments, std::vector<std::string> environment,
             std::string log_file);

  absl::Status Start();
  void Kill();
  // SIGTERM, and wait: drained and confirmed.
  int Stop();
  bool running();
  pid_t pid() const { return child_ ? child_->pid() : -1; }

  // Reads what it has printed, for `wait` at most if there is nothing yet.
  void ReadEvents(Micros wait, const std::function<void(const PublishedEvent&)>& handle);

 private:
  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
  std::string log_file_;
  std::optional<ChildProcess> child_;
  std::string buffer_;
};

// nullopt for a line that is none.
std::optional<PublishedEvent> ParsePublishedEvent(const std::string& line);

}  // namespace walrelay
