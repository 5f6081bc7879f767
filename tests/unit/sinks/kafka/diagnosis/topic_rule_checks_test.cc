#include "sinks/kafka/diagnosis/topic_rule_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TopicRuleChecksTest : public ::testing::Test {
 protected:
  // The texts of the findings about one topic, which has 6 partitions, 3 replicas and a retention.
  std::vector<std::string> Find(std::vector<TopicRule> rules) {
    const TopicInfo topic{.name = "outbox.event.order",
                          .partitions = 6,
                          .replicas = 3,
                          .settings = {{"retention.ms", "1000"}, {"cleanup.policy", "delete"}}};
    CheckTopicRules({.rules = std::move(rules)}, {&topic, 1}, findings_);
    std::vector<std::string> texts;
    for (const Finding& finding : findings_.all()) {
      EXPECT_EQ(finding.check, "kafka.topic_rules");
      EXPECT_EQ(finding.severity, Severity::kWarning);
      texts.push_back(finding.text);
    }
    return texts;
  }

  Findings findings_{nullptr};
};

TEST_F(TopicRuleChecksTest, TopicThatFitsItsRuleIsNoFinding) {
  EXPECT_THAT(Find({{.match = "outbox.*",
                     .partitions = 6,
                     .replication_factor = 3,
                     .config = {{"retention.ms", "1000"}}},
                    {.match = "*", .partitions = 1}}),
              IsEmpty());
}

TEST_F(TopicRuleChecksTest, WhatIsLeftToTheBrokersIsNotCompared) {
  EXPECT_THAT(Find({}), IsEmpty());
  EXPECT_THAT(Find({{.match = "*"}}), IsEmpty());
  EXPECT_THAT(Find({{.match = "other", .partitions = 1}}), IsEmpty());
}

TEST_F(TopicRuleChecksTest, EachDifferenceIsNamedWithItsRule) {
  EXPECT_THAT(
      Find({{.match = "outbox.*",
             .partitions = 12,
             .replication_factor = 2,
             .config = {{"retention.ms", "5"}, {"cleanup.policy", "delete"}}}}),
      ElementsAre(AllOf(HasSubstr("outbox.event.order has partitions = 6"),
                        HasSubstr("rule match = \"outbox.*\" has 12")),
                  HasSubstr("has replication_factor = 3"), HasSubstr("has retention.ms = 1000")));
  EXPECT_THAT(findings_.all().back().remedy,
              HasSubstr("--topic outbox.event.order --add-config retention.ms=5"));
}

// The user may not read the topic's settings, or the brokers are too old to know one.
TEST_F(TopicRuleChecksTest, UnknownSettingsAreNotCompared) {
  EXPECT_THAT(Find({{.match = "*", .config = {{"remote.storage.enable", "true"}}}}), IsEmpty());
}

}  // namespace
}  // namespace walrelay
