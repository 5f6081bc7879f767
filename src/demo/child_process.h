// ChildProcess: a program that the demonstration starts and that never outlives it.
//
// The kernel kills the child when the thread that started it ends (PR_SET_PDEATHSIG), so that no
// process remains, however the demonstration ends.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace walrelay {

class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> arguments;    // [0]: the path of the program
    std::vector<std::string> environment;  // NAME=value; overrides inherited variables
    std::string withheld;                  // prefix of variables that are not inherited; "": none
    std::string error_file;                // for standard error; "": inherited
    bool capture_output = false;           // output() reads standard output
    uid_t user = 0;                        // run as this user and group, if this process is root
    gid_t group = 0;
  };

  static absl::StatusOr<ChildProcess> Start(const Options& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  // Kills the child if it still runs.
  ~ChildProcess();

  void Signal(int signal) const;
  // Waits until the child exits. Returns the exit code, or 128 + the number of the signal that
  // killed it.
  int Wait();
  bool running();

  pid_t pid() const { return pid_; }
  int output() const { return output_.get(); }

 private:
  ChildProcess(pid_t pid, UniqueFd output) : pid_(pid), output_(std::move(output)) {}

  pid_t pid_ = -1;
  UniqueFd output_;
  int exit_code_ = 0;
};

}  // namespace walrelay
