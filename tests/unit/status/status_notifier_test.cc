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
  StatusNotifier Make() { return {SystemdNotifier::FromEnvironment(), clock_}; }
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
    board_->Publish(std::move(status));
    clock_.Advance(std::chrono::seconds(1));
    board_->Beat(clock_.Now());
    notifier.OnTurn(Only());
    return Heard();
  }
  // The only pipeline of the process.
  std::vector<ReportedPipeline> Only() const { return {{.name = "", .board = board_}}; }

  const testing::TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/notify";
  const testing::EnvironmentVariable address_{"NOTIFY_SOCKET", path_};
  const testing::EnvironmentVariable watchdog_{"WATCHDOG_USEC", "20000000"};
  const testing::EnvironmentVariable pid_{"WATCHDOG_PID", std::nullopt};
  UniqueFd socket_;
  testing::FakeClock clock_;
  const std::shared_ptr<StatusBoard> board_ = std::make_shared<StatusBoard>();
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
  board_->Beat(clock_.Now());
  notifier.OnTurn(Only());
  EXPECT_EQ(Heard(), "WATCHDOG=1\n");
  notifier.OnTurn(Only());
  EXPECT_EQ(Heard(), "");
}

// The service manager then restarts the process.
TEST_F(StatusNotifierTest, NoHeartbeatWhileTheThreadOfAPipelineHangs) {
  StatusNotifier notifier = Make();
  After(notifier, {.state = RelayState::kStreaming});
  auto other = std::make_shared<StatusBoard>();
  other->Publish({.state = RelayState::kStreaming});
  other->Beat(clock_.Now());
  clock_.Advance(std::chrono::seconds(11));
  board_->Beat(clock_.Now());
  notifier.OnTurn({{.name = "a", .board = board_}, {.name = "b", .board = other}});
  EXPECT_THAT(Heard(), Not(HasSubstr("WATCHDOG=1")));
  clock_.Advance(std::chrono::seconds(1));
  board_->Beat(clock_.Now());
  notifier.OnTurn(
      {{.name = "a", .board = board_}, {.name = "b", .board = other, .running = false}});
  EXPECT_THAT(Heard(), HasSubstr("WATCHDOG=1\n"));
}

TEST_F(StatusNotifierTest, ReadyWhenEachPipelineHasTriedToConnect) {
  StatusNotifier notifier = Make();
  const auto other = std::make_shared<StatusBoard>();
  const std::vector<ReportedPipeline> both = {{.name = "a", .board = board_},
                                              {.name = "b", .board = other}};
  board_->Publish({.state = RelayState::kStreaming});
  clock_.Advance(std::chrono::seconds(1));
  notifier.OnTurn(both);
  EXPECT_THAT(Heard(), AllOf(Not(HasSubstr("READY=1")),
                             HasSubstr("STATUS=1 of 2 pipelines ready; b: starting\n")));
  other->Publish({.state = RelayState::kDegraded});
  clock_.Advance(std::chrono::seconds(1));
  notifier.OnTurn(both);
  EXPECT_THAT(Heard(), HasSubstr("READY=1\n"));
}

TEST_F(StatusNotifierTest, StatusIsSentOnlyWhenItChanges) {
  StatusNotifier notifier = Make();
  const RelayStatus status{.state = RelayState::kStreaming, .figures = {.acknowledged = 7}};
  EXPECT_THAT(After(notifier, status), HasSubstr("STATUS=streaming: 7 events acknowledged\n"));
  EXPECT_THAT(After(notifier, status), Not(HasSubstr("STATUS=")));
}

TEST_F(StatusNotifierTest, StoppingExtendsTheStopTimeoutOnce) {
  StatusNotifier notifier = Make();
  notifier.OnStopping(std::chrono::seconds(25));
  EXPECT_EQ(Heard(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=35000000\n");
  notifier.OnStopping(std::chrono::seconds(0));
  EXPECT_EQ(Heard(), "");
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
