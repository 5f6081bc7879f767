#include "status/error_history.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

WallTime At(int second) {
  return WallTime(seconds(second));
}

TEST(ErrorHistoryTest, LatestErrorIsFirst) {
  ErrorHistory history;
  history.Add(Error(ErrorCode::kConnectionLost, "a"), At(1));
  history.Add(Error(ErrorCode::kKafkaStalled, "b"), At(2));
  ASSERT_EQ(history.errors().size(), 2u);
  EXPECT_THAT(history.errors()[0].error, HasError(ErrorCode::kKafkaStalled));
}

TEST(ErrorHistoryTest, RepeatedErrorIsCountedAndMovesToTheFront) {
  ErrorHistory history;
  history.Add(Error(ErrorCode::kConnectionLost, "first"), At(1));
  history.Add(Error(ErrorCode::kKafkaStalled, "b"), At(2));
  history.Add(Error(ErrorCode::kConnectionLost, "second"), At(3));
  ASSERT_EQ(history.errors().size(), 2u);
  const PastError& latest = history.errors()[0];
  EXPECT_THAT(latest.error, HasError(ErrorCode::kConnectionLost, "second"));
  EXPECT_EQ(latest.first, At(1));
  EXPECT_EQ(latest.last, At(3));
  EXPECT_EQ(latest.times, 2u);
}

TEST(ErrorHistoryTest, OldestErrorIsDropped) {
  ErrorHistory history;
  int second = 0;
  for (const ErrorEntry& entry : ErrorCatalogue()) {
    history.Add(Error(entry.code, "x"), At(++second));
  }
  EXPECT_EQ(history.errors().size(), 8u);
  EXPECT_THAT(history.errors()[0].error, HasError(ErrorCatalogue().back().code));
}

}  // namespace
}  // namespace walrelay
