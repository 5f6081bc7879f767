#include "admin/control_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A prefix that only this process uses.
std::string OwnPrefix(std::string_view source = "host/shop") {
  return ControlPrefix("test_" + std::to_string(getpid()), source);
}

TEST(ControlSocketTest, ServerAnswersItsOwnUser) {
  const auto server = ControlServer::Start(
      OwnPrefix(), [](std::string_view request) { return "you said " + std::string(request); });
  ASSERT_THAT(server, IsOk());
  const auto peers = FindControlPeers(OwnPrefix());
  ASSERT_EQ(peers.size(), 1u);
  EXPECT_EQ(peers[0].pid, getpid());
  EXPECT_EQ(peers[0].user, geteuid());
  for (int i = 0; i < 3; ++i) {
    const auto answer = SendControlRequest(peers[0], "show");
    ASSERT_THAT(answer, IsOk());
    EXPECT_EQ(*answer, "you said show");
  }
}

TEST(ControlSocketTest, RelaysOfAnotherDatabaseAreNotFound) {
  const auto server =
      ControlServer::Start(OwnPrefix(), [](std::string_view) { return std::string("x"); });
  ASSERT_THAT(server, IsOk());
  EXPECT_TRUE(FindControlPeers(OwnPrefix("elsewhere/shop")).empty());
  EXPECT_EQ(FindControlPeers(OwnPrefix("")).size(), 1u);
}

TEST(ControlSocketTest, TwoRelaysOfOneSlotAreBothFound) {
  const auto handler = [](std::string_view) { return std::string("x"); };
  const auto first = ControlServer::Start(OwnPrefix(), handler);
  const auto second = ControlServer::Start(OwnPrefix(), handler);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(FindControlPeers(OwnPrefix()).size(), 2u);
}

TEST(ControlSocketTest, StoppedServerIsNotFoundAndDoesNotAnswer) {
  auto server =
      ControlServer::Start(OwnPrefix(), [](std::string_view) { return std::string("x"); });
  ASSERT_THAT(server, IsOk());
  const auto peers = FindControlPeers(OwnPrefix());
  ASSERT_EQ(peers.size(), 1u);
  server->reset();
  EXPECT_TRUE(FindControlPeers(OwnPrefix()).empty());
  EXPECT_THAT(SendControlRequest(peers[0], "show"), HasError(ErrorCode::kRelaySilent));
}

// What a user starts is in user.slice, whatever its name is.
TEST(ControlSocketTest, OnlyServicesOfTheSystemThatAreNamedLikeWalrelayAreTrustedByRoot) {
  for (const char* line :
       {"0::/system.slice/walrelay.service", "1:name=systemd:/system.slice/walrelay.service",
        "0::/system.slice/system-walrelay.slice/walrelay@orders.service"}) {
    EXPECT_TRUE(IsWalrelayService(line)) << line;
  }
  for (const char* line :
       {"", "/", "0::/", "0::/system.slice/nginx.service", "0::/system.slice/walrelay.service/x",
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/walrelay.service",
        "0::/user.slice/user-1000.slice/user@1000.service/x:/system.slice/walrelay.service",
        "0::/init.scope", "0::/system.slice/walrelay.scope", "walrelay.service"}) {
    EXPECT_FALSE(IsWalrelayService(line)) << line;
  }
}

// Another user can bind any name, and never accept.
TEST(ControlSocketTest, ListenerThatNeverAcceptsDoesNotHideTheOthers) {
  std::vector<UniqueFd> squatters;
  for (char suffix : {'0', '1', '2'}) {
    const std::string name = OwnPrefix() + suffix;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    squatters.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(squatters.back().get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    ASSERT_EQ(::listen(squatters.back().get(), 0), 0);
    // The queue has one place.
    squatters.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(squatters.back().get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  }
  const auto server =
      ControlServer::Start(OwnPrefix(), [](std::string_view) { return std::string("x"); });
  ASSERT_THAT(server, IsOk());
  const auto peers = FindControlPeers(OwnPrefix());
  ASSERT_EQ(peers.size(), 1u);
  EXPECT_THAT(SendControlRequest(peers[0], "show"), IsOk());
}

}  // namespace
}  // namespace walrelay
