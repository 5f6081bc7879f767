#include "publish/row_errors.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kRefusedAt = std::chrono::sys_days(std::chrono::year(2026) / 11 / 27);

ErrorCode CodeOfRefusal(ErrorCode refusal, const RefusedRecord& record) {
  return CodeOf(RowErrorOf(Error(refusal, "orders: refused"), record));
}

ErrorCode OfTime(std::optional<WallTime> time, WallTime commit_time) {
  return CodeOfRefusal(ErrorCode::kRecordTimeRefused,
                       {.bytes = 100, .time = time, .commit_time = commit_time, .now = kRefusedAt});
}

TEST(RowErrorsTest, OnlyErrorsOfTheRowFollowAPolicy) {
  const ErrorPolicy policy{.null_route = OnError::kSkip,
                           .null_key = OnError::kSkip,
                           .topic = OnError::kSkip,
                           .too_large = OnError::kSkip,
                           .value = OnError::kSkip,
                           .refused = OnError::kSkip};
  for (const ErrorEntry& entry : ErrorCatalogue()) {
    EXPECT_EQ(PolicyFor(Error(entry.code, ""), policy),
              entry.scope == Scope::kRow ? OnError::kSkip : OnError::kStop)
        << entry.name;
  }
}

TEST(RowErrorsTest, EachErrorOfTheRowFollowsItsOwnPolicy) {
  const ErrorPolicy policy{.null_route = OnError::kStop,
                           .null_key = OnError::kStop,
                           .topic = OnError::kStop,
                           .too_large = OnError::kSkip,
                           .value = OnError::kDeadLetter,
                           .refused = OnError::kStop};
  EXPECT_EQ(PolicyFor(Error(ErrorCode::kRecordTooLarge, ""), policy), OnError::kSkip);
  EXPECT_EQ(PolicyFor(Error(ErrorCode::kValueInvalid, ""), policy), OnError::kDeadLetter);
  EXPECT_EQ(PolicyFor(Error(ErrorCode::kDeliveryRefused, ""), policy), OnError::kStop);
}

// The remedies are the catalogue's, unless an error has its own.
TEST(RowErrorsTest, RemedyRecommendsSkippingOnlyForTheRow) {
  for (const ErrorEntry& entry : ErrorCatalogue()) {
    const bool recommends = entry.remedy.find("\"skip\"") != std::string_view::npos;
    EXPECT_TRUE(!recommends || entry.scope == Scope::kRow) << entry.name;
  }
}

TEST(RowErrorsTest, CommitTimeIsNeverTheFaultOfTheRow) {
  EXPECT_EQ(OfTime(kRefusedAt + hours(2), kRefusedAt + hours(2)), ErrorCode::kRecordTimeRefused);
  EXPECT_EQ(OfTime(kRefusedAt - hours(999), kRefusedAt - hours(999)),
            ErrorCode::kRecordTimeRefused);
  EXPECT_EQ(OfTime(std::nullopt, kRefusedAt + hours(2)), ErrorCode::kRecordTimeRefused);
}

TEST(RowErrorsTest, ColumnWithTheTimeOfTheInsertIsNotTheFaultOfTheRow) {
  EXPECT_EQ(OfTime(kRefusedAt + hours(2) - seconds(1), kRefusedAt + hours(2)),
            ErrorCode::kRecordTimeRefused);
  EXPECT_EQ(OfTime(kRefusedAt - hours(72) - seconds(1), kRefusedAt - hours(72)),
            ErrorCode::kRecordTimeRefused);
}

TEST(RowErrorsTest, OwnTimeIsTheFaultOfTheRowIfItsCommitTimeIsNotTheCause) {
  EXPECT_EQ(OfTime(kRefusedAt + hours(2), kRefusedAt - minutes(5)), ErrorCode::kDeliveryRefused);
  EXPECT_EQ(OfTime(kRefusedAt - hours(50'000), kRefusedAt - hours(1)), ErrorCode::kDeliveryRefused);
  // Both are wrong: without its own time the row would be refused as well.
  EXPECT_EQ(OfTime(kRefusedAt + hours(4), kRefusedAt + hours(2)), ErrorCode::kRecordTimeRefused);
}

absl::Status TimeRefused(std::optional<WallTime> time) {
  return RowErrorOf(Error(ErrorCode::kRecordTimeRefused, "orders: refused"),
                    {.time = time, .commit_time = time.value_or(kRefusedAt), .now = kRefusedAt});
}

TEST(RowErrorsTest, RefusedTimeNamesTheSkewAndTheSetting) {
  const absl::Status ahead = TimeRefused(kRefusedAt + hours(2));
  EXPECT_THAT(ahead, HasError(ErrorCode::kRecordTimeRefused,
                              "2026-11-27T02:00:00.000000Z, 2 h ahead of this machine's clock"));
  EXPECT_NE(RemedyFor(ahead).find("message.timestamp.after.max.ms"), std::string::npos);
  const absl::Status behind = TimeRefused(kRefusedAt - hours(30));
  EXPECT_THAT(behind, HasError(ErrorCode::kRecordTimeRefused, "before this machine's clock"));
  EXPECT_NE(RemedyFor(behind).find("message.timestamp.before.max.ms"), std::string::npos);
  EXPECT_THAT(TimeRefused(std::nullopt),
              HasError(ErrorCode::kRecordTimeRefused, "agrees with this machine's clock"));
  EXPECT_THAT(TimeRefused(WallTime::max()), HasError(ErrorCode::kRecordTimeRefused, "9999-12-31"));
  for (const absl::Status& error : {ahead, behind}) {
    EXPECT_EQ(RemedyFor(error).find("skip"), std::string::npos);
  }
}

TEST(RowErrorsTest, SizeIsTheFaultOfTheRowUnlessNothingFits) {
  EXPECT_EQ(CodeOfRefusal(ErrorCode::kBatchTooLarge, {.bytes = 20'000}),
            ErrorCode::kRecordTooLarge);
  EXPECT_EQ(CodeOfRefusal(ErrorCode::kBatchTooLarge, {.bytes = 200}), ErrorCode::kTopicRefuses);
}

TEST(RowErrorsTest, OtherRefusalsKeepTheirCode) {
  EXPECT_EQ(CodeOfRefusal(ErrorCode::kTopicDenied, {.bytes = 20'000}), ErrorCode::kTopicDenied);
  EXPECT_EQ(CodeOfRefusal(ErrorCode::kDeliveryRefused, {.bytes = 200}),
            ErrorCode::kDeliveryRefused);
}

}  // namespace
}  // namespace walrelay
