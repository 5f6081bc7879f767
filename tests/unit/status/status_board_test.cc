#include "status/status_board.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

constexpr RelayState kStates[] = {
    RelayState::kStarting, RelayState::kStandby, RelayState::kCatchingUp, RelayState::kStreaming,
    RelayState::kDegraded, RelayState::kBlocked, RelayState::kDraining,   RelayState::kStopped};

TEST(RelayStateTest, EachStateHasAUniqueName) {
  std::set<std::string_view> names;
  for (const RelayState state : kStates) {
    EXPECT_TRUE(names.insert(NameOf(state)).second) << NameOf(state);
    EXPECT_NE(NameOf(state), "?");
  }
}

TEST(RelayStateTest, StatesThatNeedNoAttentionAreReady) {
  const std::set<RelayState> ready = {RelayState::kStandby, RelayState::kCatchingUp,
                                      RelayState::kStreaming};
  for (const RelayState state : kStates) {
    EXPECT_EQ(IsReady(state), ready.contains(state)) << NameOf(state);
  }
}

TEST(StatusBoardTest, ReadReturnsTheLastPublishedStatus) {
  StatusBoard board;
  EXPECT_EQ(board.Read().state, RelayState::kStarting);
  EXPECT_THAT(board.Read().error, IsOk());
  board.Publish({.state = RelayState::kDegraded, .error = Error(ErrorCode::kConnectionLost, "x")});
  board.Publish({.state = RelayState::kBlocked, .error = Error(ErrorCode::kKeyMissing, "y")});
  EXPECT_EQ(board.Read().state, RelayState::kBlocked);
  EXPECT_THAT(board.Read().error, HasError(ErrorCode::kKeyMissing, "y"));
}

TEST(StatusBoardTest, SourceProblemRemainsWhenTheRelayPublishes) {
  StatusBoard board;
  board.SetSourceProblem(Error(ErrorCode::kTableNotPublished, "t"), WallTime());
  board.Publish({.state = RelayState::kStreaming});
  EXPECT_THAT(board.source_problem(), HasError(ErrorCode::kTableNotPublished));
  board.SetSourceProblem(absl::OkStatus(), WallTime());
  EXPECT_THAT(board.source_problem(), IsOk());
}

TEST(StatusBoardTest, HistoryIsBoundedAndTakesTheLagFromTheSampler) {
  StatusBoard board;
  board.AddPoint({.events = 1});
  board.SetSlot({.exists = true, .row = {.confirmed_flush_lsn = Lsn(100)}, .wal_end = Lsn(300)},
                WallTime());
  for (uint64_t i = 2; i <= 361; ++i) {
    board.AddPoint({.events = i});
  }
  const auto history = board.Snapshot().history;
  ASSERT_EQ(history.size(), 360u);
  EXPECT_EQ(history.front().events, 2u);
  EXPECT_EQ(history.back().events, 361u);
  EXPECT_EQ(history.back().lag_bytes, 200u);
}

TEST(StatusBoardTest, AProofOutlivesItsStreamUntilItIsForgotten) {
  StatusBoard board;
  board.SetPublished(std::nullopt);
  EXPECT_FALSE(board.published().has_value());
  board.SetPublished(PublishedProof{.progress = {.frontier = Lsn(7)},
                                    .backend_pid = 9,
                                    .server_started = WallTime(Micros(8)),
                                    .as_of = MonoTime(Micros(2))});
  EXPECT_TRUE(board.published()->current);
  board.SetPublished(std::nullopt);
  ASSERT_TRUE(board.published().has_value());
  EXPECT_FALSE(board.published()->current);
  EXPECT_EQ(board.published()->backend_pid, 9);
  EXPECT_EQ(board.published()->server_started, WallTime(Micros(8)));
  EXPECT_EQ(board.published()->as_of, MonoTime(Micros(2)));
  EXPECT_EQ(board.published()->progress.frontier, Lsn(7));
  board.ForgetPublished();
  EXPECT_FALSE(board.published().has_value());
}

TEST(StatusBoardTest, ReadyOnlyIfStatePublicationAndSlotAreReady) {
  StatusBoard board;
  EXPECT_FALSE(board.ready());
  board.Publish({.state = RelayState::kStreaming});
  EXPECT_TRUE(board.ready());
  board.SetSlot({.exists = true, .risk = SlotRisk::kWarning}, WallTime());
  EXPECT_TRUE(board.ready());
  board.SetSlot({.exists = true, .risk = SlotRisk::kCritical}, WallTime());
  EXPECT_FALSE(board.ready());
  board.SetSlot({.exists = true}, WallTime());
  board.SetSourceProblem(Error(ErrorCode::kTableNotPublished, "t"), WallTime());
  EXPECT_FALSE(board.ready());
}

TEST(StatusBoardTest, BeatHasMicrosecondPrecision) {
  StatusBoard board;
  const MonoTime now(Micros(1'234'567'890'123));
  board.Beat(now);
  EXPECT_EQ(board.last_beat(), now);
}

// State and error must be consistent. Under ThreadSanitizer this tests the locks.
TEST(StatusBoardTest, ReadersNeverSeeAPartialSnapshot) {
  StatusBoard board;
  board.Publish({.state = RelayState::kStreaming, .detail = "streaming"});
  std::thread relay([&] {
    for (int i = 0; i < 2'000; ++i) {
      const RelayState state = i % 2 == 0 ? RelayState::kStreaming : RelayState::kDegraded;
      board.Publish({.state = state, .detail = std::string(NameOf(state))});
      board.SetSourceProblem(Error(ErrorCode::kTableNotPublished, std::to_string(i)), WallTime());
      board.Beat(MonoTime(Micros(i)));
    }
  });
  for (int i = 0; i < 2'000; ++i) {
    const RelayStatus status = board.Read();
    EXPECT_EQ(status.detail, NameOf(status.state));
    (void)board.source_problem();
    (void)board.last_beat();
  }
  relay.join();
}

}  // namespace
}  // namespace walrelay
