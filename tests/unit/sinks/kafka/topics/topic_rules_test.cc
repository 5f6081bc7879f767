// Which rule applies to a topic, and the command that creates it by that rule.

#include "sinks/kafka/topics/topic_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;

TEST(TopicRulesTest, FirstRuleThatMatchesApplies) {
  const TopicsConfig topics{.rules = {{.match = "outbox.event.order?", .partitions = 1},
                                      {.match = "outbox.event.*", .partitions = 2},
                                      {.match = "outbox.*", .partitions = 3}}};
  EXPECT_EQ(RuleFor(topics, "outbox.event.orders").partitions, 1);
  EXPECT_EQ(RuleFor(topics, "outbox.event.order").partitions, 2);
  EXPECT_EQ(RuleFor(topics, "outbox.dead").partitions, 3);
}

TEST(TopicRulesTest, TopicWithoutARuleIsLeftToTheBrokers) {
  for (const TopicsConfig& topics :
       {TopicsConfig(), TopicsConfig{.rules = {{.match = "outbox.*", .partitions = 3}}}}) {
    const TopicRule& rule = RuleFor(topics, "other");
    EXPECT_EQ(rule.partitions, -1);
    EXPECT_EQ(rule.replication_factor, -1);
    EXPECT_TRUE(rule.config.empty());
    EXPECT_THAT(NameOf(rule), HasSubstr("no rule matches"));
  }
}

TEST(TopicRulesTest, RuleIsNamedByItsGlob) {
  EXPECT_EQ(NameOf({.match = "outbox.event.*"}), "rule match = \"outbox.event.*\"");
}

TEST(TopicRulesTest, CommandHasOnlyWhatTheRuleDecides) {
  EXPECT_EQ(CreateTopicCommand("orders", {}),
            "kafka-topics.sh --bootstrap-server BROKER --create --topic orders");
  EXPECT_EQ(CreateTopicCommand("orders", {.match = "*",
                                          .partitions = 12,
                                          .replication_factor = 3,
                                          .config = {{"retention.ms", "604800000"},
                                                     {"cleanup.policy", "compact,delete"}}}),
            "kafka-topics.sh --bootstrap-server BROKER --create --topic orders --partitions 12 "
            "--replication-factor 3 --config retention.ms=604800000 --config "
            "'cleanup.policy=compact,delete'");
}

TEST(TopicRulesTest, CommandIsQuotedForAShell) {
  EXPECT_THAT(CreateTopicCommand("a b;c", {}), HasSubstr("--topic 'a b;c'"));
  EXPECT_THAT(CreateTopicCommand("it's", {}), HasSubstr("--topic 'it'\\''s'"));
  EXPECT_THAT(CreateTopicCommand("$(id)", {}), HasSubstr("--topic '$(id)'"));
}

}  // namespace
}  // namespace walrelay
