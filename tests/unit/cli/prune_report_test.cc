#include "cli/prune_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PruneOutcome Outcome() {
  return {.count = {.pruned = 12,
                    .kept = 3,
                    .oldest_kept = std::chrono::hours(48),
                    .locked = 1,
                    .partitions = {.created = {"outbox_p1"},
                                   .dropped = {"outbox_p0"},
                                   .problems = {{"outbox_p2", "a\x1b reason"}}}},
          .complete = true,
          .error = {}};
}

TEST(PruneReportTest, TellsWhatWouldBeDone) {
  const PruneConfig config{.mode = PruneMode::kDelete, .keep = std::chrono::hours(24)};
  const std::string text = PruneText(config, PruneAction::kCount, Outcome());
  EXPECT_THAT(text, HasSubstr("partition outbox_p1: to create\n"));
  EXPECT_THAT(text, HasSubstr("partition outbox_p0: to drop\n"));
  EXPECT_THAT(text, HasSubstr("12 to delete\n"));
  EXPECT_THAT(text, HasSubstr("3 kept, the oldest is 2 days old\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(PruneReportTest, TellsWhatWasDone) {
  const PruneConfig config{.mode = PruneMode::kMark};
  const std::string text = PruneText(config, PruneAction::kApply, Outcome());
  EXPECT_THAT(text, HasSubstr("partition outbox_p1: created\n"));
  EXPECT_THAT(text, HasSubstr("12 marked\n"));
  EXPECT_THAT(text, HasSubstr("page ranges with a locked row: 1"));
}

TEST(PruneReportTest, JsonHasTheSame) {
  PruneOutcome outcome = Outcome();
  outcome.count.partitions.problems[0].reason = "reason";
  EXPECT_EQ(
      PruneJson(PruneAction::kCount, outcome),
      R"({"applied":false,"complete":true,"rows":12,"unproven_rows":3,)"
      R"("oldest_unproven_seconds":172800,"locked_ranges":1,"partitions_created":["outbox_p1"],)"
      R"("partitions_dropped":["outbox_p0"],)"
      R"("partition_problems":[{"partition":"outbox_p2","reason":"reason"}]})"
      "\n");
}

}  // namespace
}  // namespace walrelay
