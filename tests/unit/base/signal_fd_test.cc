#include "base/signal_fd.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

namespace walrelay {
namespace {

// Restores the signal mask and the SIGPIPE action that the code under test changes.
class SignalFdTest : public ::testing::Test {
 protected:
  SignalFdTest() {
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask_);
    ::sigaction(SIGPIPE, nullptr, &on_pipe_);
  }
  ~SignalFdTest() override {
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    ::sigaction(SIGPIPE, &on_pipe_, nullptr);
  }

  sigset_t mask_;
  struct sigaction on_pipe_;
};

TEST_F(SignalFdTest, EachSignalIsTakenOnce) {
  SignalFd signals{SIGTERM, SIGUSR1};
  EXPECT_EQ(signals.Take(), 0);
  for (const int signal : {SIGTERM, SIGUSR1}) {
    ::pthread_kill(::pthread_self(), signal);
    EXPECT_EQ(signals.Take(), signal);
    EXPECT_EQ(signals.Take(), 0);
  }
}

TEST_F(SignalFdTest, SignalsOfTheSameNumberAreMerged) {
  SignalFd signals{SIGUSR2};
  ::pthread_kill(::pthread_self(), SIGUSR2);
  ::pthread_kill(::pthread_self(), SIGUSR2);
  EXPECT_EQ(signals.Take(), SIGUSR2);
  EXPECT_EQ(signals.Take(), 0);
}

TEST_F(SignalFdTest, SignalsOfAnotherProcessArePassedOn) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd sender(ends[0]);
  SignalFd signals{UniqueFd(ends[1])};
  PassSignal(sender.get(), SIGHUP);
  PassSignal(sender.get(), SIGTERM);
  EXPECT_EQ(signals.Take(), SIGHUP);
  EXPECT_EQ(signals.Take(), SIGTERM);
  EXPECT_EQ(signals.Take(), 0);
}

TEST_F(SignalFdTest, BrokenPipesAreIgnored) {
  IgnoreBrokenPipes();
  EXPECT_EQ(::raise(SIGPIPE), 0);
}

}  // namespace
}  // namespace walrelay
