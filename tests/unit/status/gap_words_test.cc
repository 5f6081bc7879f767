#include "status/gap_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "walrelay/error.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string_view StepOf(ErrorCode code) {
  return NextStepOf({.error = Error(code, "x")});
}

// An acceptance is offered first only where it may be right without anything else.
TEST(GapWordsTest, WhatIsMissingIsRecoveredFirst) {
  for (const ErrorCode code : {ErrorCode::kSlotLost, ErrorCode::kSlotGone, ErrorCode::kSlotDropped,
                               ErrorCode::kSlotAheadOfLog, ErrorCode::kPublicationChanged,
                               ErrorCode::kHistoryRewritten, ErrorCode::kPublicationSkipped}) {
    EXPECT_THAT(StepOf(code), StartsWith("walrelay recover"));
  }
}

TEST(GapWordsTest, AMistakeInTheConfigurationIsShownFirst) {
  for (const ErrorCode code :
       {ErrorCode::kSystemChanged, ErrorCode::kProgressForeign, ErrorCode::kClusterChanged}) {
    EXPECT_THAT(StepOf(code), StartsWith("walrelay resume shows"));
    EXPECT_THAT(StepOf(code), Not(HasSubstr("recover")));
  }
}

}  // namespace
}  // namespace walrelay
