// Tests which settings a new topic has, and which settings of an existing topic are reported.

#include "sinks/kafka/topics/compacted_topic_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> NamesOf(const KafkaSettings& settings) {
  std::vector<std::string> names;
  for (const UnsuitableSetting& each : UnsuitableSettings(settings)) {
    EXPECT_NE(each.effect, "");
    names.emplace_back(each.name);
  }
  return names;
}

KafkaSettings SettingsOfANewTopic() {
  const TopicRule rule = CompactedTopicRule("p");
  return {rule.config.begin(), rule.config.end()};
}

TEST(CompactedTopicRuleTest, NewTopicKeepsRecordsAndDropsMarkersSoon) {
  const TopicRule rule = CompactedTopicRule("p");
  EXPECT_EQ(rule.partitions, 1);
  EXPECT_EQ(rule.config.front(), std::pair(std::string("cleanup.policy"), std::string("compact")));
  EXPECT_EQ(SettingsOfANewTopic().at("delete.retention.ms"), "60000");
}

TEST(CompactedTopicRuleTest, NewTopicIsSuitable) {
  EXPECT_THAT(NamesOf(SettingsOfANewTopic()), IsEmpty());
}

// A topic that was created with cleanup.policy=compact only has the brokers' defaults.
TEST(CompactedTopicRuleTest, DefaultsOfBrokersAreUnsuitable) {
  EXPECT_THAT(NamesOf({{"cleanup.policy", "compact"},
                       {"segment.ms", "604800000"},
                       {"segment.bytes", "1073741824"},
                       {"min.compaction.lag.ms", "0"},
                       {"max.compaction.lag.ms", "9223372036854775807"},
                       {"delete.retention.ms", "86400000"}}),
              ElementsAre("segment.ms", "segment.bytes", "min.compaction.lag.ms",
                          "max.compaction.lag.ms", "delete.retention.ms"));
}

TEST(CompactedTopicRuleTest, EachUnsuitableSettingIsReportedByItself) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"segment.ms", "21600001"},
                                          {"min.compaction.lag.ms", "59999"},
                                          {"max.compaction.lag.ms", "86400001"},
                                          {"delete.retention.ms", "3600001"}}) {
    KafkaSettings settings = SettingsOfANewTopic();
    settings[name] = value;
    EXPECT_THAT(NamesOf(settings), ElementsAre(name));
  }
}

TEST(CompactedTopicRuleTest, SettingsThatBrokersDoNotHaveAreSuitable) {
  EXPECT_THAT(NamesOf({}), IsEmpty());
  EXPECT_THAT(NamesOf({{"segment.ms", ""}}), IsEmpty());
}

TEST(CompactedTopicRuleTest, CommandSetsAllOfThem) {
  EXPECT_THAT(AlterCompactedTopicCommand("p"),
              HasSubstr("--topic p --add-config segment.ms=600000,segment.bytes=16777216,"
                        "min.compaction.lag.ms=300000,max.compaction.lag.ms=3600000,"
                        "delete.retention.ms=60000"));
}

}  // namespace
}  // namespace walrelay
