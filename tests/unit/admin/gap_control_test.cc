#include "admin/gap_control.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "walrelay/error.h"

namespace walrelay {
namespace {

class GapControlTest : public ::testing::Test {
 protected:
  void Hold(const char* id, const absl::Status& obstacle = absl::OkStatus()) {
    board_.Publish(
        {.state = RelayState::kBlocked,
         .gap = Gap{.error = Error(ErrorCode::kSlotMoved, "confirmed up to 0/1, now 0/2"),
                    .id = id,
                    .from = Lsn(1),
                    .to = Lsn(2)},
         .gap_error = obstacle,
         .gap_checks = 3});
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
