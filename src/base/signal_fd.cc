#include "base/signal_fd.h"

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "base/check.h"

namespace walrelay {

SignalFd::SignalFd(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) {
    sigaddset(&set, signal);
  }
  WR_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0, "signals can be blocked");
  fd_.reset(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  WR_CHECK(fd_.valid(), "the kernel has signalfd");
}

int SignalFd::Take() {
  signalfd_siginfo info;
  const bool taken = ::read(fd_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info));
  return taken ? static_cast<int>(info.ssi_signo) : 0;
}

void PassSignal(int sender, int signal) {
  signalfd_siginfo info{};
  info.ssi_signo = static_cast<uint32_t>(signal);
  (void)::send(sender, &info, sizeof(info), MSG_NOSIGNAL | MSG_DONTWAIT);
}

namespace {

volatile sig_atomic_t exit_code = 0;

// Only _exit() is safe here. Threads may hold any lock.
void ExitNow(int /*signal*/) {
  _exit(exit_code);
}

}  // namespace

void ExitAtSignals(std::initializer_list<int> signals, int code) {
  exit_code = code;
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) {
    std::signal(signal, ExitNow);
    sigaddset(&set, signal);
  }
  WR_CHECK(pthread_sigmask(SIG_UNBLOCK, &set, nullptr) == 0, "signals can be unblocked");
}

void IgnoreBrokenPipes() {
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace walrelay
