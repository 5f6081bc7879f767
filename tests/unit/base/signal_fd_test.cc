#include "base/signal_fd.h"

#include <gtest/gtest.h>
#include <signal.h>

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

TEST_F(SignalFdTest, BrokenPipesAreIgnored) {
  IgnoreBrokenPipes();
  EXPECT_EQ(::raise(SIGPIPE), 0);
}

}  // namespace
}  // namespace walrelay
