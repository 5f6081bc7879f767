// The tables of [[kafka.topics.rules]] and their errors, through the loader.
#include "config/topic_rule_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/config_fixture.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class TopicRuleReaderTest : public testing::ConfigFixture {};

TEST_F(TopicRuleReaderTest, TopicRulesAreReadInTheirOrder) {
  const TopicsConfig topics = Load(R"toml(
    [kafka.topics]
    create = "create"
    [[kafka.topics.rules]]
    match = "outbox.event.*"
    partitions = 12
    replication_factor = 3
    config = { "retention.ms" = 604800000, "cleanup.policy" = "compact,delete" }
    [[kafka.topics.rules]]
    match = "*"
    partitions = -1
  )toml")
                                  .kafka.topics;
  EXPECT_EQ(topics.create, CreateTopics::kCreate);
  ASSERT_EQ(topics.rules.size(), 2u);
  EXPECT_EQ(topics.rules[0].match, "outbox.event.*");
  EXPECT_EQ(topics.rules[0].partitions, 12);
  EXPECT_EQ(topics.rules[0].replication_factor, 3);
  EXPECT_THAT(topics.rules[0].config,
              UnorderedElementsAre(Pair("retention.ms", "604800000"),
                                   Pair("cleanup.policy", "compact,delete")));
  EXPECT_EQ(topics.rules[1].match, "*");
  EXPECT_EQ(topics.rules[1].partitions, -1);
  EXPECT_EQ(topics.rules[1].replication_factor, -1);
}

TEST_F(TopicRuleReaderTest, NoTopicIsCreatedByDefault) {
  EXPECT_EQ(Load("").kafka.topics.create, CreateTopics::kNever);
  Flag("kafka.topics.create", "check");
  EXPECT_EQ(Load("[kafka.topics]\ncreate = 'create'\n").kafka.topics.create, CreateTopics::kCheck);
}

TEST_F(TopicRuleReaderTest, InvalidTopicRulesAreReported) {
  ExpectBadValue("[kafka]\ntopics = 5\n", "kafka.topics: expected a table");
  ExpectBadValue("[kafka.topics]\nrules = 5\n", "expected an array of tables");
  ExpectBadValue("[kafka.topics]\ncreate = 'always'\n",
                 "expected one of never, check, create, got \"always\"");
  ExpectUnknown("[kafka.topics]\nrule = 5\n", "did you mean \"rules\"?");
  ExpectUnknown("[[kafka.topics.rules]]\nmatsch = 'a'\n",
                "unknown key of a topic rule \"matsch\"; did you mean \"match\"?");
  ExpectBadValue("[[kafka.topics.rules]]\npartitions = 1\n", "a topic rule requires a match");
  ExpectBadValue("[[kafka.topics.rules]]\nmatch = ''\n", "expected a glob");
  for (const char* count : {"0", "-2", "100001", "'6'", "1.5"}) {
    ExpectBadValue(fmt::format("[[kafka.topics.rules]]\nmatch = '*'\npartitions = {}\n", count),
                   "walrelay.toml:3:14: partitions: expected 1 to 100000, or -1");
  }
  ExpectBadValue("[[kafka.topics.rules]]\nmatch = '*'\nreplication_factor = 10001\n",
                 "replication_factor: expected 1 to 10000");
  ExpectBadValue("[[kafka.topics.rules]]\nmatch = '*'\nconfig = { retention.ms = 1 }\n",
                 "a name that contains a dot must be in quotes: \"retention.ms\"");
}

}  // namespace
}  // namespace walrelay
