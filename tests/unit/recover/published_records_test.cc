#include "recover/published_records.h"

#include <gtest/gtest.h>

#include "fakes/fake_tails.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using testing::FakeTails;

class PublishedRecordsTest : public ::testing::Test {
 protected:
  static bool Contains(PublishedRecords& published, std::string_view topic, std::string_view value,
                       std::string_view id) {
    const Header header{"id", id};
    const auto found =
        published.Contains({.topic = topic, .key = "k", .value = value, .headers = {&header, 1}});
    EXPECT_THAT(found, IsOk());
    return found.ok() && *found;
  }

  FakeTails tails_;
};

TEST_F(PublishedRecordsTest, FindsWhatATopicHas) {
  tails_.topics["t"] = {{"k", "v", "2"}, {"k", "v", "1"}};
  PublishedRecords published(&tails_, WallTime(Micros(7)));
  EXPECT_TRUE(Contains(published, "t", "v", "1"));
  EXPECT_TRUE(Contains(published, "t", "v", "2"));
  EXPECT_FALSE(Contains(published, "t", "v", "3"));
  EXPECT_FALSE(Contains(published, "u", "v", "1"));
  EXPECT_EQ(tails_.reads["t"], 1);
  EXPECT_EQ(tails_.asked_since, WallTime(Micros(7)));
  EXPECT_EQ(published.records_read(), 2u);
}

TEST_F(PublishedRecordsTest, AReusedIdIsAnotherRecord) {
  tails_.topics["t"] = {{"k", "before the restore", "1"}};
  PublishedRecords published(&tails_, std::nullopt);
  EXPECT_FALSE(Contains(published, "t", "after the restore", "1"));
}

TEST_F(PublishedRecordsTest, NothingIsPublishedWithoutAComparison) {
  PublishedRecords published(nullptr, std::nullopt);
  EXPECT_FALSE(Contains(published, "t", "v", "1"));
}

// What is over the limit is published again, and counted.
TEST_F(PublishedRecordsTest, RecordsOverTheLimitAreMissing) {
  tails_.topics["t"] = {{"k", "v", "1"}, {"k", "v", "2"}, {"k", "v", "3"}};
  PublishedRecords published(&tails_, std::nullopt, /*most_records=*/2);
  EXPECT_TRUE(Contains(published, "t", "v", "2"));
  EXPECT_FALSE(Contains(published, "t", "v", "3"));
  EXPECT_EQ(published.over_limit(), 1u);
}

TEST_F(PublishedRecordsTest, DoubtfulRecordsAreMissing) {
  tails_.topics["t"] = {{"k", "v", "1"}};
  tails_.topics["u"] = {{"k", "v", "1"}};
  PublishedRecords published(&tails_, std::nullopt);
  EXPECT_TRUE(Contains(published, "t", "v", "1"));
  tails_.doubt = "too few replicas";
  EXPECT_FALSE(Contains(published, "u", "v", "1"));
  EXPECT_TRUE(Contains(published, "t", "v", "1"));
  EXPECT_EQ(published.doubts(), std::vector<std::string>{"too few replicas"});
}

TEST_F(PublishedRecordsTest, AnErrorIsReturned) {
  tails_.error = Error(ErrorCode::kKafkaUnreachable, "x");
  PublishedRecords published(&tails_, std::nullopt);
  EXPECT_THAT(published.Contains({.topic = "t"}), HasError(ErrorCode::kKafkaUnreachable));
}

}  // namespace
}  // namespace walrelay
