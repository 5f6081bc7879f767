#include "encode/stored_dead_letter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "walrelay/error.h"

namespace walrelay {
namespace {

using pgoutput::TupleValue;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

StoredDeadLetter WrittenAndRead(pgoutput::Tuple row, size_t max_row_bytes = 1000) {
  const pgoutput::CachedRelation relation{
      .schema = "shop", .name = "outbox", .columns = {{"id", 20}, {"key", 25}, {"payload", 17}}};
  const std::string bytes = EncodeDeadLetter(
      Error(ErrorCode::kTopicInvalid, "reason"), relation, row,
      {.row = {Lsn(3), Lsn(2), 1}, .ordinal = 4, .xid = 5, .commit_time = WallTime(Micros(6))},
      max_row_bytes);
  return *DecodeDeadLetter(bytes);
}

TEST(StoredDeadLetterTest, HasWhatWasWritten) {
  const std::string payload("\0\xff", 2);
  const std::array row = {TupleValue{TupleValue::Kind::kText, ""}, TupleValue{},
                          TupleValue{TupleValue::Kind::kBinary, payload}};
  const StoredDeadLetter letter = WrittenAndRead(row);
  EXPECT_EQ(letter.code, "WR-3005");
  EXPECT_EQ(letter.reason, "reason");
  EXPECT_EQ(letter.schema + "." + letter.table, "shop.outbox");
  EXPECT_EQ(letter.position.row, (Position{Lsn(3), Lsn(2), 1}));
  EXPECT_EQ(letter.position.ordinal, 4U);
  EXPECT_EQ(letter.position.xid, 5U);
  EXPECT_EQ(letter.position.commit_time, WallTime(Micros(6)));
  ASSERT_EQ(letter.columns.size(), 3U);
  EXPECT_EQ(letter.columns[0].type_oid, 20U);
  EXPECT_THAT(letter.columns[0].value, Optional(std::string()));
  EXPECT_THAT(letter.columns[1].value, Eq(std::nullopt));
  EXPECT_THAT(letter.columns[2].value, Optional(payload));
  EXPECT_TRUE(letter.columns[2].binary);
  EXPECT_FALSE(letter.truncated());
  EXPECT_TRUE(letter.retried.empty());
}

TEST(StoredDeadLetterTest, ShowsThatAValueIsTruncated) {
  const std::string payload(100, 'x');
  const std::array row = {TupleValue{TupleValue::Kind::kText, "1"}, TupleValue{},
                          TupleValue{TupleValue::Kind::kText, payload}};
  const StoredDeadLetter letter = WrittenAndRead(row, 30);
  EXPECT_TRUE(letter.truncated());
  EXPECT_EQ(letter.columns[2].cut_from, 100U);
}

TEST(StoredDeadLetterTest, OtherBytesAreNone) {
  for (const std::string_view bytes : {"", "\xff\xff", "text", "{}"}) {
    EXPECT_FALSE(DecodeDeadLetter(bytes).has_value()) << bytes;
  }
}

TEST(StoredDeadLetterTest, MarkListsLetters) {
  const std::array<DeadLetterId, 2> ids = {{{0, 0}, {3, 1'000'000'000'000}}};
  EXPECT_THAT(DecodeDeadLetter(EncodeRetriedMark(ids))->retried, ElementsAre(ids[0], ids[1]));
}

TEST(DeadLetterIdTest, IsPartitionAndOffset) {
  EXPECT_EQ(ToString(DeadLetterId{3, 1042}), "3/1042");
  EXPECT_EQ(ParseDeadLetterId("3/1042"), (DeadLetterId{3, 1042}));
  for (const char* const text : {"", "/", "3", "3/", "/1", "-1/2", "1/-2", "1/2/3", "1/2 ", "x/1",
                                 "99999999999/1", "1/99999999999999999999"}) {
    EXPECT_EQ(ParseDeadLetterId(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace walrelay
