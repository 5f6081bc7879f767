#include "sinks/kafka/topics/progress_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

TEST(ProgressErrorTest, NamesTheProgressTopicWhereTheCatalogueSpeaksOfEvents) {
  EXPECT_THAT(AboutProgress(Error(ErrorCode::kTopicDenied, "no"), "t"),
              HasError(ErrorCode::kProgressDenied));
  EXPECT_THAT(AboutProgress(Error(ErrorCode::kTopicInvalid, "no"), "t"),
              HasError(ErrorCode::kProgressTopicInvalid));
}

TEST(ProgressErrorTest, ATopicThatWasDeletedIsCreatedByTheNextAttempt) {
  EXPECT_THAT(AboutProgress(Error(ErrorCode::kTopicUnknown, "no"), "t"),
              HasError(ErrorCode::kKafkaUnreachable));
}

TEST(ProgressErrorTest, LeavesOtherErrorsAndSuccessAlone) {
  const absl::Status stalled = Error(ErrorCode::kKafkaStalled, "slow");
  EXPECT_EQ(AboutProgress(stalled, "t"), stalled);
  EXPECT_EQ(AboutProgress(absl::OkStatus(), "t"), absl::OkStatus());
}

TEST(ProgressErrorTest, TheRemedyNamesTheTopic) {
  EXPECT_THAT(RemedyFor(AboutProgress(Error(ErrorCode::kTopicDenied, "no"), "orders.progress")),
              ::testing::HasSubstr("--topic orders.progress"));
}

}  // namespace
}  // namespace walrelay
