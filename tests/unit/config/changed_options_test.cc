#include "config/changed_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ChangedOptionsTest, EqualConfigurationsHaveNoDifference) {
  EXPECT_THAT(ChangedOptions(Config(), Config()), IsEmpty());
}

TEST(ChangedOptionsTest, NamesAreInTheOrderOfTheReference) {
  Config after;
  after.log.level = LogLevel::kDebug;
  after.source.slot = "other";
  EXPECT_THAT(ChangedOptions(Config(), after), ElementsAre("source.slot", "log.level"));
}

TEST(ChangedOptionsTest, ListsThatAreNoOptionsHaveAName) {
  Config after;
  after.source.tables[0].placements.push_back({.column = "c"});
  after.kafka.librdkafka.emplace_back("linger.ms", "5");
  EXPECT_THAT(ChangedOptions(Config(), after), ElementsAre("source.tables", "kafka.librdkafka"));
}

TEST(ChangedOptionsTest, SecretIsNotNamedByItsValue) {
  Config before;
  before.kafka.sasl_password = Secret("one");
  Config after;
  after.kafka.sasl_password = Secret("two");
  EXPECT_THAT(ChangedOptions(before, after), ElementsAre("a secret"));
}

}  // namespace
}  // namespace walrelay
