#include "base/check.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

TEST(CheckTest, TrueConditionIsEvaluatedOnce) {
  int evaluated = 0;
  WR_CHECK(++evaluated == 1, "evaluated once");
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, FalseConditionAbortsAndReportsItsLocation) {
  EXPECT_DEATH(WR_CHECK(1 > 2, "one is less"),
               "WR-5001 internal error at .*check_test.cc:[0-9]+: 1 > 2 does not hold "
               "\\(one is less\\)");
}

}  // namespace
}  // namespace walrelay
