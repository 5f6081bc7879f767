// Notifications to the service manager, received on a socket of the test.
#include "status/status_notifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fakes/environment_variable.h"
#include "fakes/fake_clock.h"
#include "fakes/temporary_directory.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class StatusNotifierTest : public ::testing::Test {
 protected:
  StatusNotifierTest() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
  }
  StatusNotifier Make() {
    return {SystemdNotifier::FromEnvironment(), clock_, board_, std::chrono::seconds(25)};
  }
  // Returns the notifications received since the last call.
  std::string Heard() const {
    std::string heard;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::recv(socket_.get(), buffer, sizeof(buffer), 0)) > 0;) {
      heard.append(buffer, static_cast<size_t>(size));
    }
    return heard;
  }
  std::string After(StatusNotifier& notifier, RelayStatus status) {
    board_.Publish(std::move(status));
    clock_.Advance(std::chrono::seconds(1));
    notifier.OnTurn();
    return Heard();
  }

  const testing::TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/notify";
  const testing::EnvironmentVariable address_{"NOTIFY_SOCKET", path_};
  const testing::EnvironmentVariable watchdog_{"WATCHDOG_USEC", "20000000"};
  const testing::EnvironmentVariable pid_{"WATCHDOG_PID", std::nullopt};
  UniqueFd socket_;
  testing::FakeClock clock_;
  StatusBoard board_;
};

TEST_F(StatusNotifierTest, ReadyIsSentAfterTheFirstConnectionAttempt) {
  StatusNotifier notifier = Make();
  EXPECT_THAT(After(notifier, {.state = RelayState::kStarting}), Not(HasSubstr("READY=1")));
  EXPECT_THAT(After(notifier, {.state = RelayState::kStreaming}), HasSubstr("READY=1\n"));
  EXPECT_THAT(After(notifier, {.state = RelayState::kStandby}), Not(HasSubstr("READY=1")));
}

TEST_F(StatusNotifierTest, UnreachableDatabaseAtStartupIsNotAServiceFailure) {
  StatusNotifier notifier = Make();
  EXPECT_THAT(After(notifier, {.state = RelayState::kDegraded,
                               .error = Error(ErrorCode::kPostgresUnreachable, "x")}),
              AllOf(HasSubstr("READY=1\n"), HasSubstr("STATUS=degraded: WR-2001 ")));
}

TEST_F(StatusNotifierTest, WatchdogIsNotifiedOnlyByTurns) {
  StatusNotifier notifier = Make();
  EXPECT_THAT(After(notifier, {.state = RelayState::kStreaming}), HasSubstr("WATCHDOG=1\n"));
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(Heard(), "");
  notifier.OnTurn();
  EXPECT_EQ(Heard(), "WATCHDOG=1\n");
  notifier.OnTurn();
  EXPECT_EQ(Heard(), "");
}

TEST_F(StatusNotifierTest, StatusIsSentOnlyWhenItChanges) {
  StatusNotifier notifier = Make();
  const RelayStatus status{.state = RelayState::kStreaming, .figures = {.acknowledged = 7}};
  EXPECT_THAT(After(notifier, status), HasSubstr("STATUS=streaming: 7 events acknowledged\n"));
  EXPECT_THAT(After(notifier, status), Not(HasSubstr("STATUS=")));
}

TEST_F(StatusNotifierTest, DrainingExtendsTheStopTimeout) {
  StatusNotifier notifier = Make();
  After(notifier, {.state = RelayState::kStreaming});
  EXPECT_THAT(After(notifier, {.state = RelayState::kDraining}),
              HasSubstr("STOPPING=1\nEXTEND_TIMEOUT_USEC=35000000\n"));
  EXPECT_THAT(After(notifier, {.state = RelayState::kDraining}), Not(HasSubstr("STOPPING=1")));
}

TEST_F(StatusNotifierTest, StoppingIsSentWhenTheRelayEndsWithoutDraining) {
  StatusNotifier notifier = Make();
  After(notifier, {.state = RelayState::kStreaming});
  notifier.OnEnd();
  EXPECT_EQ(Heard(), "STOPPING=1\n");
}

TEST_F(StatusNotifierTest, WatchdogOfAnotherProcessIsIgnored) {
  const testing::EnvironmentVariable other("WATCHDOG_PID", "1");
  StatusNotifier notifier = Make();
  EXPECT_THAT(After(notifier, {.state = RelayState::kStreaming}), Not(HasSubstr("WATCHDOG=1")));
}

TEST_F(StatusNotifierTest, InvalidNotifySocketMeansNoServiceManager) {
  for (const char* none : {"", "relative", "/far/too/long/"}) {
    const std::string address = std::string(none) + std::string(*none == '/' ? 200 : 0, 'x');
    const testing::EnvironmentVariable variable("NOTIFY_SOCKET", address);
    EXPECT_FALSE(SystemdNotifier::FromEnvironment().listens()) << address;
  }
}

TEST_F(StatusNotifierTest, ManagerThatDoesNotReadBlocksNothing) {
  const SystemdNotifier manager = SystemdNotifier::FromEnvironment();
  for (int i = 0; i < 100'000; ++i) {
    manager.Notify("WATCHDOG=1\n");
  }
}

TEST(StatusLineTest, ServerTextStaysOnOneLine) {
  EXPECT_EQ(StatusLine({.state = RelayState::kStreaming, .waits_for = "a\nREADY=1"}),
            "streaming; waits for a\\x0aREADY=1");
}

}  // namespace
}  // namespace walrelay
