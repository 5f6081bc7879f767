#include "admin/control_socket.h"

#include <gtest/gtest.h>
#include <unistd.h>

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

}  // namespace
}  // namespace walrelay
