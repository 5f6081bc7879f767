#include "base/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <filesystem>
#include <thread>

#include "fakes/environment_variable.h"
#include "fakes/status_matchers.h"
#include "fakes/temporary_directory.h"

namespace walrelay {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr ErrorCode kCode = ErrorCode::kSecretFile;

class ProgramTest : public ::testing::Test {
 protected:
  static absl::StatusOr<Secret> Shell(const std::string& script, Micros timeout = seconds(60)) {
    return RunProgram({"sh", "-c", script}, kCode, timeout);
  }
  static std::string OutputOf(const std::string& script) {
    const auto output = Shell(script);
    EXPECT_THAT(output, IsOk());
    return output.ok() ? output->Reveal() : "";
  }
  static std::string ErrorOf(const std::string& script) {
    const auto output = Shell(script);
    EXPECT_THAT(output, HasError(kCode));
    return MessageOf(output.status());
  }

  testing::TemporaryDirectory directory_;
};

TEST_F(ProgramTest, OneTrailingNewlineIsNotPartOfTheOutput) {
  EXPECT_EQ(OutputOf("echo hunter2"), "hunter2");
  EXPECT_EQ(OutputOf("printf hunter2"), "hunter2");
  EXPECT_EQ(OutputOf("printf 'hunter2\\n\\n'"), "hunter2\n");
}

TEST_F(ProgramTest, ArgumentsArePassedWithoutAShell) {
  const auto output = RunProgram({"printf", "%s", "$HOME; `id` \"'"}, kCode, seconds(60));
  EXPECT_EQ(output.value().Reveal(), "$HOME; `id` \"'");
}

TEST_F(ProgramTest, OutputInPartsIsComplete) {
  EXPECT_EQ(OutputOf("for i in 1 2 3; do printf $i; sleep 0.01; done"), "123");
}

TEST_F(ProgramTest, MaximumOutputIsAcceptedAndMoreIsAnError) {
  EXPECT_EQ(OutputOf("head -c 65536 /dev/zero | tr '\\0' x").size(), kMaxProgramOutput);
  EXPECT_THAT(ErrorOf("head -c 65537 /dev/zero | tr '\\0' x"), HasSubstr("more than 64 KiB"));
}

TEST_F(ProgramTest, EmptyOutputIsAnError) {
  EXPECT_EQ(ErrorOf("true"), "sh: printed nothing");
  EXPECT_EQ(ErrorOf("echo"), "sh: printed nothing");
}

TEST_F(ProgramTest, FailureQuotesTheEndOfStandardErrorAndNeverTheOutput) {
  const std::string error = ErrorOf("echo hunter2; seq 1000 >&2; echo no credentials >&2; exit 3");
  EXPECT_THAT(error, HasSubstr("sh: exit code 3: "));
  EXPECT_THAT(error, HasSubstr("no credentials"));
  EXPECT_THAT(error, Not(HasSubstr("hunter2")));
  EXPECT_LT(error.size(), 1000u);
}

TEST_F(ProgramTest, ArgumentsAreNotPartOfAnError) {
  const auto output = RunProgram({"false", "hunter2"}, kCode, seconds(60));
  EXPECT_EQ(MessageOf(output.status()), "false: exit code 1");
}

TEST_F(ProgramTest, SignalIsReported) {
  EXPECT_THAT(ErrorOf("kill -9 $$"), HasSubstr("ended by signal 9"));
}

TEST_F(ProgramTest, MissingProgramIsAnError) {
  const auto output = RunProgram({"/no/such/program"}, kCode, seconds(60));
  EXPECT_EQ(MessageOf(output.status()), "/no/such/program: No such file or directory");
}

TEST_F(ProgramTest, VariablesOfWalrelayAreNotInherited) {
  const testing::EnvironmentVariable ours("WALRELAY_SOURCE__PASSWORD", "hunter2");
  const testing::EnvironmentVariable other("AWS_REGION", "eu-west-1");
  EXPECT_EQ(OutputOf("echo \"$WALRELAY_SOURCE__PASSWORD,$AWS_REGION\""), ",eu-west-1");
}

TEST_F(ProgramTest, StandardInputIsEmpty) {
  EXPECT_EQ(OutputOf("cat; echo end"), "end");
}

TEST_F(ProgramTest, BlockedSignalsAreNotInherited) {
  sigset_t term;
  sigset_t before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &before);
  EXPECT_THAT(ErrorOf("kill -TERM $$; echo survived"), HasSubstr("ended by signal 15"));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// The grandchild would hold the output open, and outlive its parent.
TEST_F(ProgramTest, TimeoutKillsTheWholeGroup) {
  const std::string pid_file = directory_.File("pid");
  const auto output = Shell("sleep 1000 & echo $! > " + pid_file + "; wait", seconds(1));
  ASSERT_THAT(output, HasError(kCode));
  EXPECT_THAT(MessageOf(output.status()), HasSubstr("did not end within 1 s"));
  const pid_t grandchild = std::stoi(directory_.Read(pid_file));
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  // The state in /proc: an orphan that nothing reaps stays a zombie.
  const auto ended = [&] {
    const std::string stat = directory_.Read("/proc/" + std::to_string(grandchild) + "/stat");
    return stat.empty() || stat.find(") Z ") != std::string::npos;
  };
  while (!ended() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(ended());
}

TEST_F(ProgramTest, InterruptEndsTheWait) {
  const UniqueFd interrupt(::eventfd(1, EFD_CLOEXEC));
  const auto output = RunProgram({"sleep", "1000"}, kCode, seconds(60), interrupt.get());
  EXPECT_TRUE(absl::IsCancelled(output.status()));
}

// The current folder may belong to another user.
TEST_F(ProgramTest, RelativeFoldersOfPathAreIgnored) {
  directory_.Write("token-helper", "#!/bin/sh\necho hunter2\n", 0700);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  for (const char* folders : {".", "", ":/bin", "/bin:", "./"}) {
    const testing::EnvironmentVariable path("PATH", folders);
    EXPECT_THAT(FindProgram("token-helper"), HasError(ErrorCode::kConfigValue)) << folders;
    EXPECT_EQ(MessageOf(RunProgram({"token-helper"}, kCode, seconds(60)).status()),
              "token-helper: No such file or directory")
        << folders;
  }
  {
    const testing::EnvironmentVariable path("PATH", directory_.path());
    EXPECT_THAT(RunProgram({"token-helper"}, kCode, seconds(60)), IsOk());
  }
  std::filesystem::current_path(before);
}

TEST_F(ProgramTest, ProgramIsFoundInPathOrByItsPath) {
  EXPECT_THAT(FindProgram("sh"), IsOk());
  EXPECT_THAT(FindProgram("/bin/sh"), IsOk());
  EXPECT_THAT(FindProgram("no-such-program"), HasError(ErrorCode::kConfigValue));
  EXPECT_THAT(FindProgram(directory_.Write("plain", "")), HasError(ErrorCode::kConfigValue));
}

}  // namespace
}  // namespace walrelay
