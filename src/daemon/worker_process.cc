#include "daemon/worker_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/system_clock.h"

namespace walrelay {
namespace {

// The first byte of a message to the parent; 'F' is a FailureReport.
constexpr char kNotification = 'N';  // to systemd, the rest
constexpr char kRelease = 'R';       // source, a zero byte, slot

void Send(int parent, char kind, std::string_view text) {
  std::string message(1, kind);
  message += text;
  // Best effort, as with systemd itself: a stopped parent must not stop the pipelines.
  (void)::send(parent, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

absl::Status NotStarted(std::string_view what) {
  return Error(ErrorCode::kWorkerNotStarted, fmt::format("{}: {}", what, std::strerror(errno)));
}

// In the parent: one worker.
class WatchedWorker {
 public:
  WatchedWorker(pid_t pid, UniqueFd socket, const SystemdNotifier& manager,
                FailureHistory& failures)
      : pid_(pid), socket_(std::move(socket)), manager_(manager), failures_(failures) {}

  // How it ended, as waitpid() returns it; nullopt: killed at the second request to stop.
  std::optional<int> Watch(SignalFd& signals) {
    for (;;) {
      // A socket that the worker has closed would be readable until the worker has ended.
      pollfd polled[] = {{signals.fd(), POLLIN, 0}, {open_ ? socket_.get() : -1, POLLIN, 0}};
      (void)::poll(polled, std::size(polled), -1);
      while (const int signal = signals.Take()) {
        if (signal == SIGCHLD) {
          continue;  // below
        }
        if ((signal == SIGTERM || signal == SIGINT) && std::exchange(stopping_, true)) {
          (void)::kill(pid_, SIGKILL);
          (void)::waitpid(pid_, nullptr, 0);
          return std::nullopt;
        }
        PassSignal(socket_.get(), signal);
      }
      const std::optional<int> end = Reap();
      Receive();
      if (end) {
        return end;
      }
    }
  }

  // An operator has asked the process to stop.
  bool stopping() const { return stopping_; }
  // Describes the end of the worker: by its own report, or else by the signal that ended it.
  FailureReport Failure(int end) {
    return report_ ? *std::move(report_)
                   : FailureReport{.pipeline = std::nullopt, .what = DescribeSignal(WTERMSIG(end))};
  }

 private:
  // As process 1 of a container, the parent inherits processes that it did not start.
  std::optional<int> Reap() const {
    std::optional<int> end;
    int status = 0;
    for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended == pid_) {
        end = status;
      }
    }
    return end;
  }

  void Receive() {
    std::array<char, 4096> buffer;
    while (open_) {
      const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (size < 0) {
        return;
      }
      open_ = size > 0;
      OnMessage({buffer.data(), static_cast<size_t>(size)});
    }
  }

  void OnMessage(std::string_view message) {
    if (message.starts_with(kNotification)) {
      manager_.Notify(message.substr(1));
    } else if (message.starts_with(kRelease)) {
      const size_t end = message.find('\0');
      if (end != std::string_view::npos) {
        failures_.OnReleased({.source = std::string(message.substr(1, end - 1)),
                              .slot = std::string(message.substr(end + 1))},
                             SystemClock().Now());
      }
    } else if (auto report = ParseFailureReport(message)) {
      report_ = *std::move(report);
    }
  }

  const pid_t pid_;
  const UniqueFd socket_;
  const SystemdNotifier& manager_;
  FailureHistory& failures_;
  bool open_ = true;
  bool stopping_ = false;
  std::optional<FailureReport> report_;
};

// In a new worker. A parent that has ended already sends no signal.
void EndWithParent(pid_t parent) {
  WR_CHECK(::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "the kernel reports the end of a parent");
  if (::getppid() != parent) {
    ::_exit(static_cast<int>(ExitCode::kTemporary));
  }
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  (void)::sigprocmask(SIG_UNBLOCK, &child, nullptr);
}

}  // namespace

Worker::Worker(UniqueFd parent, SystemdNotifier manager, FailureHistory failures)
    : signals_(std::move(parent)), manager_(std::move(manager)), failures_(std::move(failures)) {
  ReportFailuresTo(signals_.fd());
}

SystemdNotifier Worker::notifier() const {
  return manager_.listens() ? SystemdNotifier::Through(
                                  [fd = signals_.fd()](std::string_view assignments) {
                                    Send(fd, kNotification, assignments);
                                  },
                                  manager_.watchdog())
                            : SystemdNotifier();
}

void Worker::Release(const PipelineIdentity& pipeline) const {
  Send(signals_.fd(), kRelease, pipeline.source + '\0' + pipeline.slot);
}

absl::StatusOr<ExitCode> RunInWorker(const std::function<ExitCode(Worker&)>& body) {
  std::optional<SignalFd> signals;
  signals.emplace({SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD});
  IgnoreBrokenPipes();
  SystemdNotifier manager = SystemdNotifier::FromEnvironment();
  FailureHistory failures;
  const pid_t parent = ::getpid();
  for (;;) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
      return NotStarted("socketpair");
    }
    UniqueFd parent_end(ends[0]);
    UniqueFd worker_end(ends[1]);
    const pid_t pid = ::fork();
    if (pid < 0) {
      return NotStarted("fork");
    }
    if (pid == 0) {
      parent_end.reset();
      signals.reset();
      EndWithParent(parent);
      Worker worker(std::move(worker_end), std::move(manager), std::move(failures));
      return body(worker);
    }
    worker_end.reset();
    WatchedWorker worker(pid, std::move(parent_end), manager, failures);
    const std::optional<int> end = worker.Watch(*signals);
    if (!end) {
      return ExitCode::kTemporary;
    }
    if (WIFEXITED(*end)) {
      return static_cast<ExitCode>(WEXITSTATUS(*end));
    }
    FailureReport failure = worker.Failure(*end);
    const std::string what = failure.what;
    if (!failures.OnFailed(std::move(failure), SystemClock().Now()) || worker.stopping()) {
      return Error(ErrorCode::kWorkerFailed, what);
    }
  }
}

}  // namespace walrelay
