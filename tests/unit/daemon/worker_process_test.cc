// Each case runs a parent with its workers in a process of its own.
#include "daemon/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/log.h"

namespace walrelay {
namespace {

using ::testing::ExitedWithCode;

const PipelineIdentity kOrdersPipeline{.source = "orders", .slot = "s"};

// As `walrelay run` ends.
[[noreturn]] void Exit(const std::function<ExitCode(Worker&)>& body) {
  const absl::StatusOr<ExitCode> code = RunInWorker(body);
  ::_exit(static_cast<int>(code.ok() ? *code : ExitCodeFor(code.status())));
}

int Wait(Worker& worker) {
  pollfd polled{worker.signals().fd(), POLLIN, 0};
  (void)::poll(&polled, 1, -1);
  return worker.signals().Take();
}

// Returns the pipeline that failed first, or one that has failed zero times if none has failed.
PipelineFailure FirstFailure(const Worker& worker) {
  const auto failures = worker.failures().pipelines();
  return failures.empty() ? PipelineFailure() : failures.front();
}

TEST(WorkerProcessDeathTest, ExitCodeOfTheWorkerIsThatOfTheProcess) {
  EXPECT_EXIT(Exit([](Worker&) { return ExitCode::kConfiguration; }), ExitedWithCode(78), "");
}

TEST(WorkerProcessDeathTest, NextWorkerKnowsWhatFailed) {
  EXPECT_EXIT(Exit([](Worker& worker) {
                const PipelineFailure failure = FirstFailure(worker);
                if (failure.times < 3) {
                  const LogScope scope(kOrdersPipeline);
                  WR_CHECK(failure.times >= 3, "it fails three times");
                }
                return failure.isolated && failure.pipeline == kOrdersPipeline &&
                               failure.what.ends_with("(it fails three times)")
                           ? ExitCode::kOk
                           : ExitCode::kData;
              }),
              ExitedWithCode(0), "WR-5001");
}

TEST(WorkerProcessDeathTest, ReleasedPipelineIsNotIsolatedWhileOthersFail) {
  EXPECT_EXIT(Exit([](Worker& worker) {
                const PipelineFailure failure = FirstFailure(worker);
                if (failure.times < 2) {
                  const LogScope scope(kOrdersPipeline);
                  std::abort();
                }
                if (worker.failures().pipelines().size() == 1) {
                  worker.Release(kOrdersPipeline);
                  const LogScope scope(PipelineIdentity{.source = "other", .slot = "s"});
                  std::abort();
                }
                return failure.isolated ? ExitCode::kData : ExitCode::kOk;
              }),
              ExitedWithCode(0), "");
}

TEST(WorkerProcessDeathTest, UnknownCauseEndsTheProcessTheSecondTime) {
  EXPECT_EXIT(Exit([](Worker& worker) {
                WR_CHECK(worker.failures().unknown().empty(), "second");
                ::kill(::getpid(), SIGKILL);
                return ExitCode::kOk;
              }),
              ExitedWithCode(70), "second");
}

TEST(WorkerProcessDeathTest, SignalsReachTheWorkerThroughItsParentOnly) {
  EXPECT_EXIT(Exit([](Worker& worker) {
                ::kill(::getpid(), SIGTERM);
                ::kill(::getpid(), SIGHUP);
                ::kill(::getppid(), SIGUSR1);
                const int first = Wait(worker);
                ::kill(::getppid(), SIGTERM);
                const int second = Wait(worker);
                return first == SIGUSR1 && second == SIGTERM && worker.signals().Take() == 0
                           ? ExitCode::kOk
                           : ExitCode::kData;
              }),
              ExitedWithCode(0), "");
}

TEST(WorkerProcessDeathTest, SecondRequestToStopEndsAWorkerThatHangs) {
  EXPECT_EXIT(Exit([](Worker& worker) {
                ::kill(::getppid(), SIGTERM);
                Wait(worker);
                ::kill(::getppid(), SIGINT);
                for (;;) {
                  ::pause();
                }
                return ExitCode::kOk;
              }),
              ExitedWithCode(75), "");
}

TEST(WorkerProcessDeathTest, WorkerThatFailsWhileItStopsIsNotStartedAgain) {
  EXPECT_EXIT(Exit([](Worker& worker) {
                ::kill(::getppid(), SIGTERM);
                Wait(worker);
                const LogScope scope(kOrdersPipeline);
                std::abort();
                return ExitCode::kOk;
              }),
              ExitedWithCode(70), "");
}

// Systemd accepts messages of the main process only (NotifyAccess=main).
TEST(WorkerProcessDeathTest, ParentPassesOnNotifications) {
  const std::string name = "@walrelay-test-" + std::to_string(::getpid());
  const UniqueFd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin() + 1, name.end(), address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  const int on = 1;
  ASSERT_EQ(::setsockopt(manager.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);

  EXPECT_EXIT(
      {
        ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
        ::setenv("WATCHDOG_USEC", "5000000", 1);
        Exit([](Worker& worker) {
          worker.notifier().Notify("READY=1\nMAIN=" + std::to_string(::getppid()) + "\n");
          return worker.notifier().watchdog() == std::chrono::seconds(5) ? ExitCode::kOk
                                                                         : ExitCode::kData;
        });
      },
      ExitedWithCode(0), "");
  char text[256];
  char control[CMSG_SPACE(sizeof(ucred))];
  iovec part{text, sizeof(text)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t length = ::recvmsg(manager.get(), &message, MSG_DONTWAIT);
  ASSERT_GT(length, 0);
  ucred sender{};
  std::memcpy(&sender, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(sender));
  EXPECT_EQ(std::string(text, static_cast<size_t>(length)),
            "READY=1\nMAIN=" + std::to_string(sender.pid) + "\n");
}

}  // namespace
}  // namespace walrelay
