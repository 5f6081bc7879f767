// Program: runs a program of the operator's that prints a secret, such as a password or a token.
//
// Without a shell: the arguments are passed as they are, and the program is found in the absolute
// folders of PATH. The program has no standard input, and inherits the environment without the
// variables WALRELAY_*, which may hold other secrets. It runs in a process group of its own, which
// is killed when the owner gives up. Standard output is never logged; an error quotes the end of
// standard error.
//
// Not thread-safe: one thread uses an object. Source: posix_spawn(3), pidfd_open(2).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "walrelay/clock.h"
#include "walrelay/error.h"
#include "walrelay/secret.h"

namespace walrelay {

// The longest output that is accepted, in bytes: far above any password or token.
inline constexpr size_t kMaxProgramOutput = 64 * 1024;

// Movable; a moved-from object may only be destroyed or assigned.
class Program {
 public:
  // `arguments[0]` is the program. Returns after the exec: a program that is missing or cannot be
  // executed is an error here. Errors: `code`, whose message names the program, not the arguments.
  // REQUIRES: `arguments` is not empty.
  static absl::StatusOr<Program> Start(const std::vector<std::string>& arguments, ErrorCode code);
  Program(Program&& other) noexcept;
  Program& operator=(Program&& other) noexcept;
  // Kills the process group with SIGKILL, unless Poll() has returned a result.
  ~Program();

  // Does not block. nullopt while the program runs. Then its output without one line end; `code` if
  // it failed, printed nothing, or printed too much. REQUIRES: has not returned a result before.
  absl::StatusOr<std::optional<Secret>> Poll();
  // Becomes readable when Poll() can make progress. Owned by this object.
  int poll_fd() const { return events_.get(); }

 private:
  explicit Program(std::string program, ErrorCode code)
      : program_(std::move(program)), code_(code) {}

  absl::Status Fail(std::string_view what) const;
  absl::Status Open();
  absl::Status Spawn(const std::vector<std::string>& arguments);
  absl::Status Watch();
  absl::Status ReadOutput();
  void ReadErrors();
  absl::StatusOr<std::optional<Secret>> Finish(int wait_status);

  std::string program_;
  ErrorCode code_;
  pid_t pid_ = -1;    // -1: none, or reaped
  UniqueFd events_;   // epoll, of the three below
  UniqueFd process_;  // pidfd
  UniqueFd output_;
  UniqueFd errors_;
  UniqueFd child_output_;  // the child's ends, until it has them
  UniqueFd child_errors_;
  std::string printed_;     // of standard output; wiped
  std::string error_text_;  // the end of standard error
};

// Runs a program and waits for its result. Errors: those of Program, also after `timeout`;
// kCancelled when `interrupt_fd` becomes readable (-1: none). It is not read.
absl::StatusOr<Secret> RunProgram(const std::vector<std::string>& arguments, ErrorCode code,
                                  Micros timeout, int interrupt_fd = -1);

// OK if Start() would find the program: it contains a slash, or a folder of PATH has it. Errors:
// WR-1003.
absl::Status FindProgram(const std::string& program);

}  // namespace walrelay
