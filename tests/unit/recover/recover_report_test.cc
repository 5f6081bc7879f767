#include "recover/recover_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan_samples.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RecoverReportTest : public ::testing::Test {
 protected:
  RecoverReportTest() {
    plan_.evidence = testing::SampleEvidence();
    plan_.scope = {.problem = Error(ErrorCode::kSlotLost, "confirmed up to 0/384\n"),
                   .rows = {.since = RowsSince::kHorizon, .from_xid = 800},
                   .compare_since = WallTime(testing::kNoon),
                   .proven = PublishedXids{.from = {.xid = 500}, .before = 800}};
    plan_.rows = {.rows = 18, .published = 17, .found = 1, .order = RowOrder::kCommitTime};
    plan_.id = "7f3c9a01-18";
  }
  std::string Text() const { return PlanText(config_.source, plan_); }

  Config config_ = testing::SampleConfig();
  RecoverPlan plan_;
};

TEST_F(RecoverReportTest, ShowsWhatIsPublishedAndWhatIsNot) {
  EXPECT_THAT(Text(), HasSubstr("walrelay: WR-2103: confirmed up to 0/384\\x0a"));
  EXPECT_THAT(Text(), HasSubstr("rows with xmin from 500 and before 800"));
  EXPECT_THAT(Text(), HasSubstr("18 with xmin 800 or greater"));
  EXPECT_THAT(Text(), HasSubstr("17 records, by commit time"));
  EXPECT_THAT(Text(), HasSubstr("since 1970-01-01T12:00:00.000000Z, 1 of them of these rows"));
  EXPECT_THAT(Text(), HasSubstr("7f3c9a01-18"));
  EXPECT_THAT(Text(), Not(HasSubstr("warning")));
}

TEST_F(RecoverReportTest, WarnsOfWhatIsNotRecovered) {
  plan_.evidence.deleted_rows = 1;
  config_.source.message_prefixes = {"outbox"};
  plan_.compared = {.over_limit = 2, .overtaken = 3, .doubts = {"topic t: too few replicas"}};
  plan_.scope.compares_too_little = true;
  plan_.options.max_rows = 17;
  plan_.deleted = {{"orders", std::chrono::hours(24), 5, 9}};
  for (const char* part :
       {"were reset: 1.", "Logical messages", "2 records of the topics", "3 records in Kafka",
        "too few replicas", "5 of 9 records for topic orders", "--accept-deletion",
        "--compare-since", "--max-rows 17"}) {
    EXPECT_THAT(Text(), HasSubstr(part));
  }
}

TEST_F(RecoverReportTest, WarnsOfRowsThatWereNotChosen) {
  plan_.scope.rows = {.since = RowsSince::kId, .after_id = "7"};
  EXPECT_THAT(Text(), HasSubstr("18 with an id greater than 7"));
  EXPECT_THAT(Text(), HasSubstr("chosen by the operator"));
}

TEST_F(RecoverReportTest, JsonHasTheSame) {
  plan_.evidence.deleted_rows = 4;
  const std::string json = PlanJson(config_.source, plan_);
  for (const char* part :
       {R"("plan":"7f3c9a01-18")", R"("code":"WR-2103")", R"("rows":18)", R"("to_publish":17)",
        R"("published_before_xid":800)", R"("rows_since":"horizon")", R"("deleted_rows":4)"}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
  EXPECT_EQ(PlanJson(config_.source, std::nullopt), "{\"slot\":\"walrelay\",\"plan\":null}\n");
}

}  // namespace
}  // namespace walrelay
