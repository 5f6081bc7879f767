// Connect's groups of topics as rules: which settings a topic gets must not change.
#include "debezium/debezium_topics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DebeziumTopicsTest : public ::testing::Test {
 protected:
  // Properties, without "topic.creation.", added to those of a default group.
  void Set(const std::string& name, const std::string& value) {
    connector_["topic.creation." + name] = value;
  }
  void SetDefault() {
    Set("default.partitions", "6");
    Set("default.replication.factor", "3");
  }
  PropertyResult ResultOf(const std::string& name) const {
    const auto result = TranslateTopicOption("topic.creation." + name, connector_);
    EXPECT_TRUE(result) << name;
    return result.value_or(Refused("no result"));
  }
  void ExpectRefused(const std::string& name, const std::string& reason) const {
    EXPECT_EQ(ResultOf(name).outcome, PropertyOutcome::kRefused) << name;
    EXPECT_THAT(ResultOf(name).note, HasSubstr(reason));
    EXPECT_EQ(ResultOf(name).setting, "kafka.topics.create");  // the operator may decide otherwise
  }
  // "GLOB PARTITIONS REPLICAS NAME=VALUE …" of each rule.
  std::vector<std::string> Rules() const {
    DebeziumTranslation out;
    FinishTopics(connector_, out);
    EXPECT_EQ(out.settings.contains("kafka.topics.create"), !out.topic_rules.empty());
    std::vector<std::string> rules;
    for (const TopicRule& rule : out.topic_rules) {
      rules.push_back(
          fmt::format("{} {} {}", rule.match, rule.partitions, rule.replication_factor));
      for (const auto& [name, value] : rule.config) {
        rules.back() += fmt::format(" {}={}", name, value);
      }
    }
    return rules;
  }

  DebeziumOptions connector_;
};

TEST_F(DebeziumTopicsTest, OnlySimpleExpressionsAreGlobs) {
  for (const auto& [regex, glob] :
       {std::pair("outbox\\.event\\..*", "outbox.event.*"),
        std::pair("outbox.event.*", "outbox?event*"), std::pair("orders", "orders"),
        std::pair("a.+", "a?*"), std::pair(".*", "*"), std::pair("a\\-b\\_c-d_e", "a-b_c-d_e"),
        std::pair("", "")}) {
    EXPECT_EQ(GlobOf(regex), glob) << regex;
  }
  for (const char* regex : {"a*", "a?", "a+", "[ab]", "(a|b)", "a|b", "a{2}", "^a", "a$", "\\d",
                            "\\Qa", ".?", ".{3}", "(?i)a", "a.*?", "a.*+", "a\\", "a b", "\\\\."}) {
    EXPECT_EQ(GlobOf(regex), std::nullopt) << regex;
  }
}

TEST_F(DebeziumTopicsTest, ConnectorWithoutADefaultGroupCreatesNothing) {
  EXPECT_THAT(Rules(), IsEmpty());
  Set("groups", "orders");
  Set("orders.include", "orders.*");
  EXPECT_THAT(Rules(), IsEmpty());
  EXPECT_EQ(ResultOf("groups").outcome, PropertyOutcome::kMeaningless);
  EXPECT_EQ(TranslateTopicOption("topic.prefix", connector_), std::nullopt);
}

TEST_F(DebeziumTopicsTest, WorkerThatCreatesNoTopicsOverridesTheConnector) {
  SetDefault();
  Set("enable", "False");
  EXPECT_THAT(Rules(), IsEmpty());
  EXPECT_EQ(ResultOf("enable").outcome, PropertyOutcome::kEquivalent);
  EXPECT_EQ(ResultOf("default.partitions").outcome, PropertyOutcome::kMeaningless);
}

TEST_F(DebeziumTopicsTest, DefaultGroupIsTheLastRule) {
  SetDefault();
  Set("default.cleanup.policy", "compact");
  Set("default.retention.ms", "-1");
  EXPECT_THAT(Rules(), ElementsAre("* 6 3 cleanup.policy=compact retention.ms=-1"));
  EXPECT_EQ(ResultOf("default.cleanup.policy").outcome, PropertyOutcome::kTranslated);
  EXPECT_EQ(ResultOf("default.include").outcome, PropertyOutcome::kMeaningless);
}

TEST_F(DebeziumTopicsTest, GroupsKeepTheirOrderAndInheritOnlyTheNumbers) {
  SetDefault();
  Set("default.cleanup.policy", "compact");
  Set("groups", "big, log");
  Set("log.include", ".*");
  Set("log.retention.ms", "1000");
  Set("big.include", "outbox\\.event\\.order.*,audit|trail");
  Set("big.partitions", "48");
  Set("big.replication.factor", "-1");
  EXPECT_THAT(Rules(), ElementsAre("outbox.event.order* 48 -1", "audit 48 -1", "trail 48 -1",
                                   "* 6 3 retention.ms=1000", "* 6 3 cleanup.policy=compact"));
}

TEST_F(DebeziumTopicsTest, TopicsThatTheLastGroupExcludesHaveTheDefaultSettings) {
  SetDefault();
  Set("groups", "first,last");
  Set("first.include", "a.*");
  Set("last.include", "b.*");
  Set("last.exclude", "b\\.x,b\\.y");
  Set("last.partitions", "2");
  EXPECT_THAT(Rules(), ElementsAre("a* 6 3", "b.x 6 3", "b.y 6 3", "b* 2 3", "* 6 3"));
  EXPECT_EQ(ResultOf("last.exclude").outcome, PropertyOutcome::kTranslated);
}

TEST_F(DebeziumTopicsTest, WhatNoRuleCanExpressIsRefused) {
  SetDefault();
  Set("groups", "first,last");
  Set("first.include", "orders-[0-9]+");
  Set("first.exclude", "a");
  Set("first.partitions", "many");
  Set("last.replication.factor", "0");
  ExpectRefused("first.include", "not a glob");
  ExpectRefused("first.exclude", "only the last group");
  ExpectRefused("first.partitions", "\"many\" is not a number of partitions");
  ExpectRefused("last.replication.factor", "not a number of replicas");
}

TEST_F(DebeziumTopicsTest, GroupThatIsNotListedHasNoMeaning) {
  SetDefault();
  Set("other.include", "[");
  EXPECT_EQ(ResultOf("other.include").outcome, PropertyOutcome::kMeaningless);
  EXPECT_THAT(Rules(), ElementsAre("* 6 3"));
}

TEST_F(DebeziumTopicsTest, NameOfAGroupMayContainDots) {
  SetDefault();
  Set("groups", "a,a.b");
  Set("a.include", "x");
  Set("a.b.include", "y");
  Set("a.b.partitions", "2");
  EXPECT_THAT(Rules(), ElementsAre("x 6 3", "y 2 3", "* 6 3"));
}

}  // namespace
}  // namespace walrelay
