#include "dryrun/record_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using ::testing::Contains;
using ::testing::Not;

// A record, and the same record as read from its topic.
class RecordDifferenceTest : public ::testing::Test {
 protected:
  ExpectedRecord Expected() const { return ExpectedRecord(record_); }
  std::string Difference(std::optional<int32_t> key_partition = std::nullopt) const {
    return DifferenceOf(Expected(), stored_, key_partition);
  }

  std::vector<Header> headers_ = {{"id", "7"}, {"note", std::nullopt}};
  Record record_{.topic = "orders",
                 .key = "customer-7",
                 .value = "paid",
                 .headers = headers_,
                 .timestamp = WallTime(std::chrono::microseconds(1'500'999))};
  StoredRecord stored_{.topic = "orders",
                       .partition = 3,
                       .offset = 12,
                       .key = "customer-7",
                       .value = "paid",
                       .headers = {{"id", "7"}, {"note", std::nullopt}},
                       .timestamp = WallTime(std::chrono::milliseconds(1'500))};
};

TEST_F(RecordDifferenceTest, EqualRecordsHaveNoDifference) {
  EXPECT_EQ(Difference(), "");
}

TEST_F(RecordDifferenceTest, EachPartIsCompared) {
  stored_.timestamp = WallTime(std::chrono::milliseconds(1'501));
  EXPECT_EQ(Difference(),
            "timestamp: walrelay 1970-01-01T00:00:01.500999Z, topic 1970-01-01T00:00:01.501000Z");
  stored_.value = std::nullopt;
  EXPECT_EQ(Difference(), "value: walrelay \"paid\", topic NULL");
  stored_.headers[1].second = "";
  EXPECT_EQ(Difference(), "header note: walrelay NULL, topic \"\"");
  stored_.headers.pop_back();
  EXPECT_EQ(Difference(), "headers: walrelay [id, note], topic [id]");
  stored_.key = "customer-8";
  EXPECT_EQ(Difference(), "key: walrelay \"customer-7\", topic \"customer-8\"");
  record_.partition = 4;
  EXPECT_EQ(Difference(), "partition: walrelay 4, topic 3");
}

TEST_F(RecordDifferenceTest, RecordIsInThePartitionOfItsKey) {
  EXPECT_EQ(Difference(0), "partition: walrelay 0, topic 3");
  stored_.partition = 0;
  EXPECT_EQ(Difference(0), "");
  record_.key.reset();
  stored_.key.reset();
  stored_.partition = 3;
  EXPECT_EQ(Difference(0), "") << "without a key any partition is correct";
}

TEST_F(RecordDifferenceTest, UnsetTimestampIsNotCompared) {
  record_.timestamp.reset();
  stored_.timestamp = WallTime(std::chrono::seconds(99));
  EXPECT_EQ(Difference(), "");
}

TEST_F(RecordDifferenceTest, ContextHeadersAreComparedByNameOnly) {
  headers_[1] = {"__debezium.context.runId", "one"};
  stored_.headers[1] = {"__debezium.context.runId", "another"};
  EXPECT_EQ(Difference(), "");
  stored_.headers[1].first = "__debezium.context.other";
  EXPECT_NE(Difference(), "");
}

TEST_F(RecordDifferenceTest, LongTextsAreShownFromTheDifference) {
  const std::string same(1000, 'x');
  const std::string mine = same + "mine";
  record_.value = mine;
  stored_.value = same + "theirs";
  const std::string x(20, 'x');
  EXPECT_EQ(Difference(),
            "value: walrelay …\"" + x + "mine\", topic …\"" + x + "theirs\" (from byte 980 on)");
}

TEST_F(RecordDifferenceTest, HostileBytesAreEscaped) {
  stored_.key = "\033[2J\n";
  EXPECT_EQ(Difference().find('\033'), std::string::npos);
  EXPECT_EQ(Difference().find('\n'), std::string::npos);
}

TEST_F(RecordDifferenceTest, EventIsIdentifiedByItsId) {
  stored_.key = "other";
  EXPECT_THAT(IdentitiesOf(stored_), Contains(IdentityOf(Expected())));
  stored_.headers[0].second = "8";
  EXPECT_THAT(IdentitiesOf(stored_), Not(Contains(IdentityOf(Expected()))));
  stored_.topic = "order";
  stored_.headers[0].second = "s7";
  EXPECT_THAT(IdentitiesOf(stored_), Not(Contains(IdentityOf(Expected()))));
}

TEST_F(RecordDifferenceTest, EventWithoutIdIsIdentifiedByKeyAndValue) {
  headers_[0] = {"note", "7"};
  EXPECT_THAT(IdentitiesOf(stored_), Contains(IdentityOf(Expected())));
  stored_.value = "open";
  EXPECT_THAT(IdentitiesOf(stored_), Not(Contains(IdentityOf(Expected()))));
}

}  // namespace
}  // namespace walrelay
