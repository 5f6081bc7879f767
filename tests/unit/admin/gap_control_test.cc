#include "admin/gap_control.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "walrelay/error.h"

namespace walrelay {
namespace {

class GapControlTest : public ::testing::Test {
 protected:
  static RelayStatus Held(const char* id, const absl::Status& obstacle = absl::OkStatus()) {
    return {.state = RelayState::kBlocked,
            .gap = Gap{.error = Error(ErrorCode::kSlotMoved, "confirmed up to 0/1, now 0/2"),
                       .id = id,
                       .from = Lsn(1),
                       .to = Lsn(2)},
            .gap_error = obstacle,
            .gap_checks = 3};
  }
  void Hold(const char* id, const absl::Status& obstacle = absl::OkStatus()) {
    board_.Publish(Held(id, obstacle));
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
  EXPECT_TRUE(Ask("show").starts_with("blocked 2106-1 3\n"));
  EXPECT_EQ(accepted_, "");
}

// A command that waits for the outcome finds another gap: it has to know which of both is accepted.
TEST_F(GapControlTest, TheGapThatWasAcceptedLastIsNamed) {
  RelayStatus status = Held("2106-2");
  status.accepted_gap = "2106-1";
  board_.Publish(status);
  EXPECT_TRUE(Ask("show").starts_with("held 2106-2 3 2106-1\n"));
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
