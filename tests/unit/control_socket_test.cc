#include "admin/control_socket.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "admin/gap_control.h"
#include "support/status_matchers.h"
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
    const auto answer = AskControlPeer(peers[0], "show");
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
  EXPECT_THAT(AskControlPeer(peers[0], "show"), HasError(ErrorCode::kRelaySilent));
}

class GapControlTest : public ::testing::Test {
 protected:
  void Hold(const char* id, const absl::Status& obstacle = absl::OkStatus()) {
    board_.Publish(
        {.state = RelayState::kBlocked,
         .gap = Gap{.error = Error(ErrorCode::kSlotMoved, "confirmed up to 0/1, now 0/2"),
                    .id = id,
                    .from = Lsn(1),
                    .to = Lsn(2)},
         .gap_obstacle = obstacle,
         .gap_looks = 3});
  }
  std::string Ask(std::string_view request) {
    return AnswerControl(request, board_, [this](std::string id) { accepted_ = std::move(id); });
  }

  StatusBoard board_;
  std::string accepted_;
};

TEST_F(GapControlTest, ShowReportsTheHeldGap) {
  EXPECT_TRUE(Ask("show").starts_with("none\n"));
  Hold("2106-1");
  const std::string held = Ask("show");
  EXPECT_TRUE(held.starts_with("held 2106-1 3\n")) << held;
  EXPECT_NE(held.find("WR-2106"), std::string::npos) << held;
  EXPECT_NE(held.find("0/1 to 0/2"), std::string::npos) << held;
  Hold("2106-1", Error(ErrorCode::kTableNotPublished, "public.outbox"));
  EXPECT_TRUE(Ask("show").starts_with("obstructed 2106-1 3\n"));
  EXPECT_EQ(accepted_, "");
}

TEST_F(GapControlTest, OnlyTheNamedGapIsAccepted) {
  EXPECT_TRUE(Ask("accept 2106-1").starts_with("none\n"));
  Hold("2106-2");
  EXPECT_TRUE(Ask("accept 2106-1").starts_with("other 2106-2 3\n"));
  EXPECT_TRUE(Ask("accept ").starts_with("other 2106-2 3\n"));
  EXPECT_TRUE(Ask("nonsense").starts_with("unknown\n"));
  EXPECT_EQ(accepted_, "");
  EXPECT_TRUE(Ask("accept 2106-2").starts_with("accepting 2106-2 3\n"));
  EXPECT_EQ(accepted_, "2106-2");
}

}  // namespace
}  // namespace walrelay
