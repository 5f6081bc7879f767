#include "recover/missing_records.h"

#include <gtest/gtest.h>

#include "fakes/fake_tails.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using testing::FakeTails;

class MissingRecordsTest : public ::testing::Test {
 protected:
  bool IsMissing(std::string_view key, std::string_view id) {
    const Header header{"id", id};
    const auto missing =
        missing_.IsMissing({.topic = "t", .key = key, .value = "v", .headers = {&header, 1}});
    EXPECT_THAT(missing, IsOk());
    return missing.ok() && *missing;
  }

  FakeTails tails_;
  PublishedRecords published_{&tails_, std::nullopt};
  MissingRecords missing_{published_};
};

TEST_F(MissingRecordsTest, ARecordThatTheTopicHasIsNotMissing) {
  tails_.topics["t"] = {{"a", "v", "1"}};
  EXPECT_FALSE(IsMissing("a", "1"));
  EXPECT_TRUE(IsMissing("a", "2"));
  EXPECT_EQ(missing_.overtaken(), 0u);
}

TEST_F(MissingRecordsTest, CountsRecordsBehindAMissingOneOfTheirKey) {
  tails_.topics["t"] = {{"a", "v", "3"}, {"b", "v", "2"}};
  EXPECT_TRUE(IsMissing("a", "1"));
  EXPECT_FALSE(IsMissing("b", "2"));
  EXPECT_FALSE(IsMissing("a", "3"));
  EXPECT_EQ(missing_.overtaken(), 1u);
}

}  // namespace
}  // namespace walrelay
