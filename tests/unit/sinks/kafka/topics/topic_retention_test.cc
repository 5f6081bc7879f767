#include "sinks/kafka/topics/topic_retention.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace walrelay {
namespace {

using std::chrono::hours;

class TopicRetentionTest : public ::testing::Test {
 protected:
  TopicRetentionTest() {
    orders_.name = "orders";
    orders_.settings = {{"retention.ms", "86400000"}, {"cleanup.policy", "delete"}};
  }

  TopicInfo orders_;
};

TEST_F(TopicRetentionTest, TopicKeepsRecordsForItsRetention) {
  EXPECT_EQ(KeptFor(orders_), hours(24));
}

TEST_F(TopicRetentionTest, SettingsThatIgnoreTheTimeOfARecordDeleteNone) {
  const auto settings = orders_.settings;
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"retention.ms", "-1"},
           {"cleanup.policy", "compact"},
           {"message.timestamp.type", "LogAppendTime"}}) {
    orders_.settings = settings;
    orders_.settings[name] = value;
    EXPECT_EQ(KeptFor(orders_), std::nullopt) << name;
  }
  orders_.settings.clear();  // the user may not read them
  EXPECT_EQ(KeptFor(orders_), std::nullopt);
}

}  // namespace
}  // namespace walrelay
