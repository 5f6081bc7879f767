#include "base/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"

extern char** environ;

namespace walrelay {
namespace {

// The bytes of a program's error output that an error message quotes: the last lines of the output
// say why the program failed.
constexpr size_t kMaxErrorText = 400;

// The attributes and actions of posix_spawn(), which are destroyed with the object.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  // A process group of its own; no blocked or ignored signals, which execve() would preserve.
  void Isolate() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  void Connect(int output, int errors) {
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
  }
  const posix_spawnattr_t* attributes() const { return &attributes_; }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

// posix_spawn() takes pointers to non-const characters and does not change them.
std::vector<char*> ArgumentsOf(const std::vector<std::string>& arguments) {
  std::vector<char*> out;
  for (const std::string& argument : arguments) {
    out.push_back(const_cast<char*>(argument.c_str()));
  }
  out.push_back(nullptr);
  return out;
}

std::vector<char*> InheritedEnvironment() {
  std::vector<char*> out;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("WALRELAY_")) {
      out.push_back(*variable);
    }
  }
  out.push_back(nullptr);
  return out;
}

// The file that PATH names, or a path as it is. A relative folder of PATH is ignored: the current
// folder may belong to another user. nullopt: not found, with errno set.
std::optional<std::string> Locate(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return ::access(program.c_str(), X_OK) == 0 ? std::optional(program) : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  std::string_view folders = path != nullptr ? path : "/bin:/usr/bin";
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    std::string file = fmt::format("{}/{}", folder, program);
    if (folder.starts_with('/') && ::access(file.c_str(), X_OK) == 0) {
      return file;
    }
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
  }
  errno = ENOENT;
  return std::nullopt;
}

// Reads what is there. False at the end of the stream.
template <typename Take>
bool Drain(int fd, Take take) {
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t size = ::read(fd, chunk.data(), chunk.size());
    if (size > 0) {
      take(std::string_view(chunk.data(), static_cast<size_t>(size)));
    } else if (size == 0 || (errno != EINTR && errno != EAGAIN)) {
      explicit_bzero(chunk.data(), chunk.size());
      return false;
    } else if (errno == EAGAIN) {
      explicit_bzero(chunk.data(), chunk.size());
      return true;
    }
  }
}

// Only our end does not block: the program expects ordinary streams.
bool OpenPipe(UniqueFd& ours, UniqueFd& theirs) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return false;
  }
  ours.reset(ends[0]);
  theirs.reset(ends[1]);
  return ::fcntl(ours.get(), F_SETFL, O_NONBLOCK) == 0;
}

bool AddToEvents(const UniqueFd& events, const UniqueFd& source) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = source.get();
  return ::epoll_ctl(events.get(), EPOLL_CTL_ADD, source.get(), &event) == 0;
}

// Why a process ended, as people say it.
std::string DescribeExit(int wait_status) {
  return WIFSIGNALED(wait_status) ? fmt::format("ended by signal {}", WTERMSIG(wait_status))
                                  : fmt::format("exit code {}", WEXITSTATUS(wait_status));
}

}  // namespace

absl::StatusOr<Program> Program::Start(const std::vector<std::string>& arguments, ErrorCode code) {
  WR_CHECK(!arguments.empty(), "the first argument is the program");
  Program program(arguments.front(), code);
  WR_RETURN_IF_ERROR(program.Open());
  WR_RETURN_IF_ERROR(program.Spawn(arguments));
  WR_RETURN_IF_ERROR(program.Watch());
  return program;
}

Program::Program(Program&& other) noexcept
    : program_(std::move(other.program_)),
      code_(other.code_),
      pid_(std::exchange(other.pid_, -1)),
      events_(std::move(other.events_)),
      process_(std::move(other.process_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      child_output_(std::move(other.child_output_)),
      child_errors_(std::move(other.child_errors_)),
      printed_(std::exchange(other.printed_, std::string())),
      error_text_(std::move(other.error_text_)) {}

Program& Program::operator=(Program&& other) noexcept {
  // The process of this object ends with `other`.
  std::swap(program_, other.program_);
  std::swap(code_, other.code_);
  std::swap(pid_, other.pid_);
  std::swap(events_, other.events_);
  std::swap(process_, other.process_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  std::swap(printed_, other.printed_);
  std::swap(error_text_, other.error_text_);
  return *this;
}

Program::~Program() {
  explicit_bzero(printed_.data(), printed_.size());
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

absl::Status Program::Fail(std::string_view what) const {
  const std::string quoted =
      error_text_.empty() ? "" : ": " + Printable(error_text_, kMaxErrorText);
  return Error(code_, fmt::format("{}: {}{}", Printable(program_, 80), what, quoted));
}

absl::Status Program::Open() {
  events_.reset(::epoll_create1(EPOLL_CLOEXEC));
  const bool open = events_.valid() && OpenPipe(output_, child_output_) &&
                    OpenPipe(errors_, child_errors_) && AddToEvents(events_, output_) &&
                    AddToEvents(events_, errors_);
  // The whole size at once: a string that grows would leave copies of the secret behind.
  printed_.reserve(kMaxProgramOutput + 4096);
  return open ? absl::OkStatus() : Fail(std::strerror(errno));
}

absl::Status Program::Spawn(const std::vector<std::string>& arguments) {
  const std::optional<std::string> program = Locate(arguments.front());
  if (!program) {
    return Fail(std::strerror(errno));
  }
  SpawnSettings settings;
  settings.Isolate();
  settings.Connect(child_output_.get(), child_errors_.get());
  const std::vector<char*> pointers = ArgumentsOf(arguments);
  const std::vector<char*> variables = InheritedEnvironment();
  const int error = ::posix_spawn(&pid_, program->c_str(), settings.actions(),
                                  settings.attributes(), pointers.data(), variables.data());
  child_output_.reset();
  child_errors_.reset();
  if (error != 0) {
    pid_ = -1;
    return Fail(std::strerror(error));
  }
  return absl::OkStatus();
}

// glibc has a function for it since 2.36 only.
absl::Status Program::Watch() {
  process_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  return process_.valid() && AddToEvents(events_, process_) ? absl::OkStatus()
                                                            : Fail(std::strerror(errno));
}

// The streams may end after the process, if it passed them on, and before it.
absl::StatusOr<std::optional<Secret>> Program::Poll() {
  ReadErrors();
  WR_RETURN_IF_ERROR(ReadOutput());
  int wait_status = 0;
  if (output_.valid() || errors_.valid() || ::waitpid(pid_, &wait_status, WNOHANG) != pid_) {
    return std::nullopt;
  }
  pid_ = -1;
  return Finish(wait_status);
}

// A closed descriptor leaves the epoll set.
absl::Status Program::ReadOutput() {
  const auto append = [this](std::string_view text) {
    printed_.append(text.substr(0, kMaxProgramOutput + 1 - printed_.size()));
  };
  if (output_.valid() && !Drain(output_.get(), append)) {
    output_.reset();
  }
  return printed_.size() <= kMaxProgramOutput ? absl::OkStatus() : Fail("printed more than 64 KiB");
}

void Program::ReadErrors() {
  const auto append = [this](std::string_view text) {
    error_text_.append(text);
    error_text_.erase(0, error_text_.size() - std::min(error_text_.size(), kMaxErrorText));
  };
  if (errors_.valid() && !Drain(errors_.get(), append)) {
    errors_.reset();
  }
}

absl::StatusOr<std::optional<Secret>> Program::Finish(int wait_status) {
  // One line of a message.
  error_text_.erase(error_text_.find_last_not_of('\n') + 1);
  std::replace(error_text_.begin(), error_text_.end(), '\n', ' ');
  if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
    return Fail(DescribeExit(wait_status));
  }
  // As for a secret in a file: one line end is not part of it.
  if (printed_.ends_with('\n')) {
    printed_.pop_back();
  }
  Secret secret{std::string(printed_)};
  return secret.empty() ? absl::StatusOr<std::optional<Secret>>(Fail("printed nothing"))
                        : std::optional(std::move(secret));
}

absl::StatusOr<Secret> RunProgram(const std::vector<std::string>& arguments, ErrorCode code,
                                  Micros timeout, int interrupt_fd) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  WR_ASSIGN_OR_RETURN(Program program, Program::Start(arguments, code));
  for (;;) {
    WR_ASSIGN_OR_RETURN(std::optional<Secret> secret, program.Poll());
    if (secret) {
      return *std::move(secret);
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return Error(code,
                   fmt::format("{}: did not end within {:g} s", Printable(arguments.front(), 80),
                               static_cast<double>(timeout.count()) / 1e6));
    }
    pollfd waits[] = {{program.poll_fd(), POLLIN, 0}, {interrupt_fd, POLLIN, 0}};
    ::poll(waits, std::size(waits), static_cast<int>(std::min<int64_t>(left.count(), 60'000)));
    if (waits[1].revents != 0) {
      return absl::CancelledError();
    }
  }
}

absl::Status FindProgram(const std::string& program) {
  if (Locate(program)) {
    return absl::OkStatus();
  }
  return program.find('/') != std::string::npos
             ? Error(ErrorCode::kConfigValue,
                     fmt::format("\"{}\": {}", Printable(program, 200), std::strerror(errno)))
             : Error(ErrorCode::kConfigValue,
                     fmt::format("\"{}\" is not in PATH", Printable(program, 200)),
                     "Install the program, or write its full path.");
}

}  // namespace walrelay
