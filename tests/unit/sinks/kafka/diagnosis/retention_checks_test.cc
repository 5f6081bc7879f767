#include "sinks/kafka/diagnosis/retention_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RetentionChecksTest : public ::testing::Test {
 protected:
  static constexpr int64_t kWeek = 604'800'000;

  // "severity check: text" of each finding about a topic with these settings.
  std::vector<std::string> Find(std::map<std::string, std::string> settings,
                                std::optional<Micros> oldest) {
    settings.insert({{"cleanup.policy", "delete"},
                     {"retention.ms", std::to_string(kWeek)},
                     {"message.timestamp.type", "CreateTime"}});
    const TopicInfo topic{.name = name_, .settings = std::move(settings)};
    Findings findings{nullptr};
    CheckRetention(config_.route, config_.on_error, {&topic, 1}, oldest, findings);
    std::vector<std::string> out;
    for (const Finding& finding : findings.all()) {
      out.push_back((finding.severity == Severity::kWarning ? "warning " : "good ") +
                    std::string(finding.check) + ": " + finding.text);
    }
    return out;
  }

  Config config_;
  std::string name_ = "outbox.event.order";
};

TEST_F(RetentionChecksTest, EventOlderThanItsTopicKeepsEventsIsReported) {
  EXPECT_THAT(Find({}, hours(24 * 8)),
              ElementsAre(AllOf(HasSubstr("warning kafka.retention"), HasSubstr("8 days old"),
                                HasSubstr("keeps events for 7 days"))));
  EXPECT_THAT(Find({}, hours(24 * 7)), ElementsAre(HasSubstr("warning kafka.retention")));
}

TEST_F(RetentionChecksTest, YoungerEventsAreKept) {
  EXPECT_THAT(Find({}, hours(24)),
              ElementsAre(AllOf(HasSubstr("good kafka.retention"), HasSubstr("7 days"))));
  EXPECT_THAT(Find({}, std::nullopt), ElementsAre(HasSubstr("good kafka.retention")));
}

TEST_F(RetentionChecksTest, RetentionThatDoesNotDependOnTheCommitTimeIsNoFinding) {
  EXPECT_THAT(Find({{"retention.ms", "-1"}}, hours(9999)), IsEmpty());
  EXPECT_THAT(Find({{"message.timestamp.type", "LogAppendTime"}}, hours(9999)), IsEmpty());
  config_.route.timestamp = TimestampSource::kNow;
  EXPECT_THAT(Find({}, hours(9999)), IsEmpty());
}

TEST_F(RetentionChecksTest, CompactedTopicIsReported) {
  EXPECT_THAT(Find({{"cleanup.policy", "compact"}}, hours(9999)),
              ElementsAre(HasSubstr("warning kafka.compaction")));
  EXPECT_THAT(
      Find({{"cleanup.policy", "compact,delete"}}, hours(9999)),
      ElementsAre(HasSubstr("warning kafka.compaction"), HasSubstr("warning kafka.retention")));
}

TEST_F(RetentionChecksTest, DeadLettersAreNotCompared) {
  name_ = config_.on_error.dead_letter_topic = "outbox.dead";
  EXPECT_THAT(Find({{"cleanup.policy", "compact"}}, hours(9999)), IsEmpty());
}

}  // namespace
}  // namespace walrelay
