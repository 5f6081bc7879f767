#include "demo/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "fakes/environment_variable.h"
#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"

namespace walrelay {
namespace {

using testing::EnvironmentVariable;
using ::testing::HasSubstr;

class ChildProcessTest : public ::testing::Test {
 protected:
  static ChildProcess Start(ChildProcess::Options options) {
    auto child = ChildProcess::Start(options);
    EXPECT_THAT(child, IsOk());
    return *std::move(child);
  }
  static ChildProcess Shell(const std::string& script, ChildProcess::Options options = {}) {
    options.arguments = {"/bin/sh", "-c", script};
    return Start(std::move(options));
  }
  // The complete output of the script.
  static std::string OutputOf(const std::string& script, ChildProcess::Options options = {}) {
    options.capture_output = true;
    ChildProcess child = Shell(script, std::move(options));
    const std::string output = Read(child);
    EXPECT_EQ(child.Wait(), 0);
    return output;
  }
  static std::string Read(const ChildProcess& child) {
    std::string output;
    char chunk[1024];
    for (ssize_t size = 0; (size = ::read(child.output(), chunk, sizeof(chunk))) > 0;) {
      output.append(chunk, static_cast<size_t>(size));
    }
    return output;
  }
  static bool Exists(pid_t pid) { return ::kill(pid, 0) == 0; }

  testing::TemporaryDirectory directory_;
};

TEST_F(ChildProcessTest, WaitReturnsTheExitCodeOfTheProgram) {
  ChildProcess child = Shell("exit 7");
  EXPECT_EQ(child.Wait(), 7);
  EXPECT_EQ(child.Wait(), 7) << "second call";
  EXPECT_FALSE(child.running());
}

TEST_F(ChildProcessTest, TerminatingSignalIsReported) {
  ChildProcess child = Shell("kill -TERM $$; exit 0");
  EXPECT_EQ(child.Wait(), 128 + SIGTERM);
}

TEST_F(ChildProcessTest, MissingProgramExitsWith127) {
  EXPECT_EQ(Start({.arguments = {directory_.File("missing")}}).Wait(), 127);
}

TEST_F(ChildProcessTest, ProcessRunsUntilItIsTerminated) {
  ChildProcess child = Shell("exec sleep 60");
  EXPECT_TRUE(child.running());
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait(), 128 + SIGTERM);
  EXPECT_FALSE(child.running());
}

TEST_F(ChildProcessTest, ExitCodeIsKeptWhenRunningDetectedTheExit) {
  ChildProcess child = Shell("exit 7");
  while (child.running()) {
    ::sched_yield();
  }
  EXPECT_EQ(child.Wait(), 7);
}

TEST_F(ChildProcessTest, OutputEndsWithTheProgram) {
  EXPECT_EQ(OutputOf("echo one; echo two"), "one\ntwo\n");
}

TEST_F(ChildProcessTest, WithoutCaptureThereIsNoOutput) {
  EXPECT_EQ(Shell("exit 0").output(), -1);
}

TEST_F(ChildProcessTest, VariablesExtendAndOverrideTheParentEnvironment) {
  const EnvironmentVariable ours("WALRELAY_TEST_OURS", "ours");
  EXPECT_EQ(OutputOf("echo $WALRELAY_TEST_OURS"), "ours\n");
  EXPECT_EQ(
      OutputOf("echo $WALRELAY_TEST_OURS $A", {.environment = {"WALRELAY_TEST_OURS=b", "A=a"}}),
      "b a\n");
}

TEST_F(ChildProcessTest, VariablesOfTheParentCanBeWithheld) {
  const EnvironmentVariable ours("WALRELAY_TEST_OURS", "ours");
  EXPECT_EQ(OutputOf("echo $WALRELAY_TEST_OURS $WALRELAY_A",
                     {.environment = {"WALRELAY_A=a"}, .withheld = "WALRELAY_"}),
            "a\n");
  EXPECT_EQ(OutputOf("echo $WALRELAY_TEST_OURS", {.withheld = "OTHER_"}), "ours\n");
}

TEST_F(ChildProcessTest, StandardErrorIsAppendedToTheFile) {
  const std::string log = directory_.Write("log", "before\n");
  EXPECT_EQ(Shell("echo trouble >&2", {.error_file = log}).Wait(), 0);
  EXPECT_EQ(testing::TemporaryDirectory::Read(log), "before\ntrouble\n");
}

TEST_F(ChildProcessTest, DoesNotOutliveItsOwner) {
  pid_t pid = 0;
  {
    const ChildProcess child = Shell("exec sleep 60");
    pid = child.pid();
    EXPECT_TRUE(Exists(pid));
  }
  EXPECT_FALSE(Exists(pid));
}

TEST_F(ChildProcessTest, MoveTransfersTheProcess) {
  ChildProcess first = Shell("exit 1");
  ChildProcess second(std::move(first));
  EXPECT_FALSE(first.running());  // NOLINT: tests the moved-from object
  ChildProcess third = Shell("exit 2");
  third = std::move(second);
  EXPECT_EQ(third.Wait(), 1);
}

// Ctrl-C in the terminal must signal only the demonstration itself.
TEST_F(ChildProcessTest, ProcessHasItsOwnSession) {
  ChildProcess child = Shell("echo ready; read line", {.capture_output = true});
  char ready[8];
  ASSERT_GT(::read(child.output(), ready, sizeof(ready)), 0);
  EXPECT_EQ(::getsid(child.pid()), child.pid());
}

// The parent blocks SIGTERM for signalfd; a child must not.
TEST_F(ChildProcessTest, BlockedSignalsAreNotInherited) {
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &set, &before), 0);
  EXPECT_THAT(OutputOf("grep SigBlk /proc/self/status"), HasSubstr("0000000000000000"));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(ChildProcessTest, FileDescriptorsAreNotInherited) {
  const UniqueFd ours(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string script = "[ -e /proc/$$/fd/" + std::to_string(ours.get()) + " ] || echo closed";
  EXPECT_EQ(OutputOf(script), "closed\n");
}

}  // namespace
}  // namespace walrelay
