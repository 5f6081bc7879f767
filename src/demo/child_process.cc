#include "demo/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "walrelay/error.h"

extern char** environ;

namespace walrelay {
namespace {

// For execve(), which takes pointers to non-const characters and does not change them.
std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& string : strings) {
    out.push_back(const_cast<char*>(string.c_str()));
  }
  out.push_back(nullptr);
  return out;
}

// Returns each variable once: if a name occurs twice, some programs use the first value, others the
// last.
std::vector<std::string> EnvironmentOf(const ChildProcess::Options& options) {
  std::vector<std::string> environment = options.environment;
  const auto replaced = [&](std::string_view name) {
    return std::any_of(options.environment.begin(), options.environment.end(),
                       [&](const std::string& variable) { return variable.starts_with(name); });
  };
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view ours = *variable;
    const bool withheld = !options.withheld.empty() && ours.starts_with(options.withheld);
    if (!withheld && !replaced(ours.substr(0, ours.find('=') + 1))) {
      environment.emplace_back(ours);
    }
  }
  return environment;
}

// As a shell: 128 plus the number of the signal that ended the process.
int ExitCodeOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Runs between fork and exec, where only async-signal-safe calls are allowed: no allocation, no
// locks.
[[noreturn]] void BecomeChild(const ChildProcess::Options& options, char* const* arguments,
                              char* const* environment, int output, int error) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setsid();  // Ctrl-C must reach only the demonstration, which stops its children in order
  // The demonstration blocks the stop signals, and a blocked signal stays blocked across execve().
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (output >= 0) {
    ::dup2(output, STDOUT_FILENO);
  }
  if (error >= 0) {
    ::dup2(error, STDERR_FILENO);
  }
  if (options.user != 0 && ::geteuid() == 0) {
    // In this order: after setuid() the process may not change its groups any more.
    if (::setgroups(0, nullptr) != 0 || ::setgid(options.group) != 0 ||
        ::setuid(options.user) != 0) {
      // 126 and 127 as in a shell: cannot be executed, not found.
      ::_exit(126);
    }
    // Changing the user clears the death signal.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

}  // namespace

absl::StatusOr<ChildProcess> ChildProcess::Start(const Options& options) {
  WR_CHECK(!options.arguments.empty(), "the first argument is the program");
  int pipe_fds[2] = {-1, -1};
  if (options.capture_output && ::pipe2(pipe_fds, O_CLOEXEC) != 0) {
    return Error(ErrorCode::kInternal, fmt::format("pipe: {}", std::strerror(errno)));
  }
  UniqueFd read_end(pipe_fds[0]);
  const UniqueFd write_end(pipe_fds[1]);
  UniqueFd error;
  if (!options.error_file.empty()) {
    error.reset(
        ::open(options.error_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  }
  // All memory that the child needs is allocated before fork().
  const std::vector<std::string> environment = EnvironmentOf(options);
  const std::vector<char*> arguments = Pointers(options.arguments);
  const std::vector<char*> variables = Pointers(environment);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return Error(ErrorCode::kInternal, fmt::format("fork: {}", std::strerror(errno)));
  }
  if (pid == 0) {
    BecomeChild(options, arguments.data(), variables.data(), write_end.get(), error.get());
  }
  return ChildProcess(pid, std::move(read_end));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::move(other.output_)),
      exit_code_(other.exit_code_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  // The process of this object, if there is one, ends with `other`.
  std::swap(pid_, other.pid_);
  std::swap(exit_code_, other.exit_code_);
  std::swap(output_, other.output_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    Signal(SIGKILL);
    Wait();
  }
}

void ChildProcess::Signal(int signal) const {
  if (pid_ > 0) {
    ::kill(pid_, signal);
  }
}

int ChildProcess::Wait() {
  if (pid_ > 0) {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    exit_code_ = ExitCodeOf(status);
  }
  return exit_code_;
}

bool ChildProcess::running() {
  int status = 0;
  if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    pid_ = -1;
    exit_code_ = ExitCodeOf(status);
  }
  return pid_ > 0;
}

}  // namespace walrelay
