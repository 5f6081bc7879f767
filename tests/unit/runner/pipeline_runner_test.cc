#include "runner/pipeline_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_runner.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using testing::FakeRunner;

class RunToEndTest : public ::testing::Test {
 protected:
  absl::Status Run() {
    FakeRunner runner(script_);
    return RunToEnd(runner, stop_);
  }

  FakeRunner::Script script_;
  StopRequest stop_;
};

TEST_F(RunToEndTest, RunThatFinishesByItselfReturnsItsError) {
  script_.turns_until_end = 3;
  script_.result = Error(ErrorCode::kSlotGone, "x");
  EXPECT_THAT(Run(), HasError(ErrorCode::kSlotGone));
  EXPECT_THAT(script_.calls, ElementsAre("start", "turn", "stop"));
}

TEST_F(RunToEndTest, FirstRequestDrains) {
  script_.turns_to_drain = 2;
  stop_.Request();
  EXPECT_THAT(Run(), IsOk());
  EXPECT_THAT(script_.calls, ElementsAre("start", "drain", "turn", "stop"));
}

TEST_F(RunToEndTest, SecondRequestEndsTheRunAtOnce) {
  script_.turns_to_drain = -1;
  stop_.Request();
  stop_.Request();
  EXPECT_TRUE(absl::IsAborted(Run()));
  EXPECT_THAT(script_.calls, ElementsAre("start", "drain", "stop"));
}

TEST_F(RunToEndTest, RequestsOfLaterTurnsCount) {
  script_.turns_to_drain = -1;
  script_.requested = &stop_;
  EXPECT_TRUE(absl::IsAborted(Run()));
  EXPECT_THAT(script_.calls, ElementsAre("start", "turn", "drain", "turn", "stop"));
}

}  // namespace
}  // namespace walrelay
