#include "base/repeat_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace walrelay {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RepeatLimitTest : public ::testing::Test {
 protected:
  // How many of these lines are admitted.
  int Admitted(int lines, std::string_view event, std::string_view code = "",
               const PipelineIdentity* pipeline = nullptr) {
    int admitted = 0;
    for (int i = 0; i < lines; ++i) {
      admitted += limit_.Admit(pipeline, event, code, now_) ? 1 : 0;
    }
    return admitted;
  }

  RepeatLimit limit_;
  MonoTime now_{100s};
};

TEST_F(RepeatLimitTest, KindsAreLimitedSeparately) {
  const PipelineIdentity orders = {"db1/shop", "orders"};
  EXPECT_EQ(Admitted(50, "often"), 10);
  EXPECT_EQ(Admitted(1, "rare"), 1);
  EXPECT_EQ(Admitted(50, "often", "WR-3003"), 10);
  EXPECT_EQ(Admitted(50, "often", "", &orders), 10);
}

TEST_F(RepeatLimitTest, NextWindowAdmitsLinesAgain) {
  EXPECT_EQ(Admitted(50, "often"), 10);
  now_ += 9s;
  EXPECT_EQ(Admitted(1, "often"), 0);
  now_ += 1s;
  EXPECT_EQ(Admitted(50, "often"), 10);
}

TEST_F(RepeatLimitTest, SuppressedLinesAreReportedOnceTheirWindowHasEnded) {
  const PipelineIdentity orders = {"db1/shop", "orders"};
  Admitted(30, "often", "WR-3003", &orders);
  Admitted(10, "as_often_as_allowed");
  EXPECT_THAT(limit_.Take(now_ + 9s), IsEmpty());
  const auto taken = limit_.Take(now_ + 10s);
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].pipeline, &orders);
  EXPECT_EQ(taken[0].event, "often");
  EXPECT_EQ(taken[0].code, "WR-3003");
  EXPECT_EQ(taken[0].lines, 20u);
  EXPECT_THAT(limit_.Take(now_ + 10s), IsEmpty());
}

}  // namespace
}  // namespace walrelay
