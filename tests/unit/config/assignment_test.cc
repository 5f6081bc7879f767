#include "config/assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class AssignmentTest : public ::testing::Test {
 protected:
  absl::Status Set(std::string_view name, std::string_view text) {
    return SetFromText(name, text, config_);
  }

  Config config_;
};

TEST_F(AssignmentTest, OptionIsSetFromText) {
  EXPECT_THAT(Set("source.slot", "orders"), IsOk());
  EXPECT_THAT(Set("source.create_slot", "true"), IsOk());
  EXPECT_THAT(Set("pipeline.drain_timeout", "7s"), IsOk());
  EXPECT_EQ(config_.source.slot, "orders");
  EXPECT_TRUE(config_.source.create_slot);
  EXPECT_EQ(config_.pipeline.drain_timeout, std::chrono::seconds(7));
}

TEST_F(AssignmentTest, ChoiceIsOneOfItsTable) {
  EXPECT_THAT(Set("source.on_gap", "exit"), IsOk());
  EXPECT_EQ(config_.source.on_gap, OnGap::kExit);
  EXPECT_THAT(Set("source.on_gap", "exi"), HasError(ErrorCode::kConfigValue, "got \"exi\""));
  EXPECT_THAT(Set("source.on_gap", ""), HasError(ErrorCode::kConfigValue));
  EXPECT_EQ(config_.source.on_gap, OnGap::kExit);
}

TEST_F(AssignmentTest, ErrorNamesTheOption) {
  EXPECT_THAT(Set("source.create_slot", "yes"),
              HasError(ErrorCode::kConfigValue, "source.create_slot"));
}

TEST_F(AssignmentTest, UnknownNameHasASuggestion) {
  EXPECT_THAT(Set("source.slott", "x"),
              HasError(ErrorCode::kConfigUnknownKey, "did you mean \"source.slot\""));
}

TEST_F(AssignmentTest, PropertyOfLibrdkafkaIsAddedOrReplaced) {
  EXPECT_THAT(Set("kafka.librdkafka.linger.ms", "5"), IsOk());
  EXPECT_THAT(Set("kafka.librdkafka.debug", "all"), IsOk());
  EXPECT_THAT(Set("kafka.librdkafka.linger.ms", "7"), IsOk());
  EXPECT_THAT(config_.kafka.librdkafka, ElementsAre(Pair("linger.ms", "7"), Pair("debug", "all")));
}

}  // namespace
}  // namespace walrelay
