// ChildProcess: a program that the demonstration starts and that never outlives it.
//
// The kernel kills the child when the thread that started it ends (PR_SET_PDEATHSIG), so that no
// process remains, however the demonstration ends.
//
// Not thread-safe: one thread uses an object. The demonstration starts every child from its main
// thread, which lives as long as the process.
// Source: prctl(2), PR_SET_PDEATHSIG; the child clears the signal when it changes its user, and
// sets it again.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace walrelay {

// Owns the process and the read end of its output. Move construction takes both; move assignment
// exchanges them, so that the source then owns the process of the target.
class ChildProcess {
 public:
  struct Options {
    // REQUIRES: not empty; execve() does not search the PATH.
    std::vector<std::string> arguments;    // [0]: the path of the program
    std::vector<std::string> environment;  // NAME=value; overrides inherited variables
    std::string withheld;                  // prefix of variables that are not inherited; "": none
    std::string error_file;                // for standard error; "": inherited
    bool capture_output = false;           // output() reads standard output
    uid_t user = 0;                        // run as this user and group, if this process is root
    gid_t group = 0;
  };

  // Returns after fork(): a program that cannot be executed shows only later, as exit code 127, and
  // a failed change of the user as 126. The child is in its own session, so that Ctrl-C does not
  // reach it, and has no blocked signals. If the error file cannot be opened, standard error is
  // inherited. Errors: WR-5001 (Internal), if pipe2() or fork() fails.
  static absl::StatusOr<ChildProcess> Start(const Options& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  // Kills the child if it still runs.
  // Sends SIGKILL and blocks until the kernel has reaped it.
  ~ChildProcess();

  // Does nothing after the exit has been observed by Wait() or running(): the pid may belong to
  // another process by then.
  void Signal(int signal) const;
  // Waits until the child exits. Returns the exit code, or 128 + the number of the signal that
  // killed it.
  // Blocks without a limit. May be called again; it then returns the same code.
  int Wait();
  // Does not block. Reaps the child if it has exited, so that Wait() returns its code at once.
  bool running();

  // -1 after the exit has been observed.
  pid_t pid() const { return pid_; }
  // The read end of the child's standard output, blocking; -1 without `capture_output`. Owned by
  // this object. The caller must read it: a full pipe blocks the child.
  int output() const { return output_.get(); }

 private:
  ChildProcess(pid_t pid, UniqueFd output) : pid_(pid), output_(std::move(output)) {}

  pid_t pid_ = -1;
  UniqueFd output_;
  int exit_code_ = 0;
};

}  // namespace walrelay
