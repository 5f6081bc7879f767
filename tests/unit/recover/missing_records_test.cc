#include "recover/missing_records.h"

#include <gtest/gtest.h>

#include <set>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

class FakeTails final : public TopicTails {
 public:
  absl::StatusOr<std::string> Read(const std::string& /*topic*/, std::optional<WallTime> /*since*/,
                                   const OnRecord& on_record) override {
    for (const auto& [key, id] : stored) {
      WR_RETURN_IF_ERROR(on_record(key, "v", id));
    }
    return "";
  }

  std::set<std::pair<std::string, std::string>> stored;
};

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
  tails_.stored = {{"a", "1"}};
  EXPECT_FALSE(IsMissing("a", "1"));
  EXPECT_TRUE(IsMissing("a", "2"));
  EXPECT_EQ(missing_.overtaken(), 0u);
}

TEST_F(MissingRecordsTest, CountsRecordsBehindAMissingOneOfTheirKey) {
  tails_.stored = {{"a", "3"}, {"b", "2"}};
  EXPECT_TRUE(IsMissing("a", "1"));
  EXPECT_FALSE(IsMissing("b", "2"));
  EXPECT_FALSE(IsMissing("a", "3"));
  EXPECT_EQ(missing_.overtaken(), 1u);
}

}  // namespace
}  // namespace walrelay
