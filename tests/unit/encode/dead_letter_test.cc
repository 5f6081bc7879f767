#include "encode/dead_letter.h"

#include <gtest/gtest.h>

#include <array>

#include "fakes/status_matchers.h"
#include "walrelay/events/v1/dead_letter.pb.h"

namespace walrelay {
namespace {

using events::v1::DeadLetter;
using pgoutput::TupleValue;

class DeadLetterTest : public ::testing::Test {
 protected:
  // The dead letter that a consumer reads for a row of `relation_`.
  DeadLetter Write(pgoutput::Tuple row) {
    DeadLetter letter;
    const std::string bytes = EncodeDeadLetter(reason_, relation_, row, position_, max_row_bytes_);
    EXPECT_TRUE(letter.ParseFromString(bytes));
    return letter;
  }

  absl::Status reason_ = Error(ErrorCode::kTopicInvalid, "\"a b\" has characters");
  pgoutput::CachedRelation relation_{
      .oid = 16385, .schema = "shop", .name = "outbox", .columns = {{"id", 2950}, {"payload", 17}}};
  DeadLetterPosition position_{.row = {Lsn(0x16'B374'D848), Lsn(0x16'B300'0010), 2},
                               .ordinal = 3,
                               .xid = 4'000'000'000,
                               .commit_time = WallTime(Micros(1'795'162'442'000'123))};
  size_t max_row_bytes_ = 1000;
};

TEST_F(DeadLetterTest, LetterHasCodeAndReason) {
  const DeadLetter letter = Write({});
  EXPECT_EQ(letter.code(), "WR-3005");
  EXPECT_EQ(letter.reason(), "\"a b\" has characters");
}

TEST_F(DeadLetterTest, LetterHasTableAndPosition) {
  const DeadLetter letter = Write({});
  EXPECT_EQ(letter.schema(), "shop");
  EXPECT_EQ(letter.table(), "outbox");
  EXPECT_EQ(letter.commit_lsn(), 0x16'B374'D848u);
  EXPECT_EQ(letter.row_lsn(), 0x16'B300'0010u);
  EXPECT_EQ(letter.row_index(), 2u);
  EXPECT_EQ(letter.ordinal(), 3u);
  EXPECT_EQ(letter.transaction_id(), 4'000'000'000u);
  EXPECT_EQ(letter.commit_time_us(), 1'795'162'442'000'123);
}

TEST_F(DeadLetterTest, LetterHasTheWholeRowByteForByte) {
  const std::string payload("\0\xff\x80 any", 7);
  const std::array row = {TupleValue{TupleValue::Kind::kText, "1071-1fa5"},
                          TupleValue{TupleValue::Kind::kBinary, payload}};
  const DeadLetter letter = Write(row);
  ASSERT_EQ(letter.columns_size(), 2);
  EXPECT_EQ(letter.columns(0).name(), "id");
  EXPECT_EQ(letter.columns(0).type_oid(), 2950u);
  EXPECT_EQ(letter.columns(0).value(), "1071-1fa5");
  EXPECT_FALSE(letter.columns(0).binary());
  EXPECT_EQ(letter.columns(1).value(), payload);
  EXPECT_TRUE(letter.columns(1).binary());
}

TEST_F(DeadLetterTest, LargeRowIsTruncatedAndItsSizeRecorded) {
  const std::string payload(1001, 'x');
  const std::array row = {TupleValue{TupleValue::Kind::kText, "1071-1fa5"},
                          TupleValue{TupleValue::Kind::kText, payload}};
  const DeadLetter letter = Write(row);
  EXPECT_EQ(letter.columns(0).value(), "1071-1fa5");
  EXPECT_EQ(letter.columns(0).cut_from(), 0u);
  EXPECT_EQ(letter.columns(1).value(), std::string(500, 'x'));
  EXPECT_EQ(letter.columns(1).cut_from(), 1001u);
}

TEST_F(DeadLetterTest, NullIsAbsentAndEmptyIsPresent) {
  const std::array row = {TupleValue(), TupleValue{TupleValue::Kind::kText, ""}};
  const DeadLetter letter = Write(row);
  EXPECT_FALSE(letter.columns(0).has_value());
  ASSERT_TRUE(letter.columns(1).has_value());
  EXPECT_EQ(letter.columns(1).value(), "");
}

// The mismatch may be the reason for the dead letter.
TEST_F(DeadLetterTest, RowAndTableOfDifferentLengthGiveTheShorterLength) {
  const std::array<TupleValue, 3> longer = {};
  EXPECT_EQ(Write(longer).columns_size(), 2);
  const std::array<TupleValue, 1> shorter = {};
  EXPECT_EQ(Write(shorter).columns_size(), 1);
}

// A database with encoding SQL_ASCII sends names unchanged. A protobuf string that is not UTF-8
// makes the whole letter unreadable.
TEST_F(DeadLetterTest, NamesThatAreNotUtf8AreEscaped) {
  reason_ = Error(ErrorCode::kTopicInvalid, "caf\xe9");
  relation_ = {.oid = 1,
               .schema = "caf\xe9",
               .name = "\xff",
               .columns = {{"gr\xf6\xdf"
                            "e",
                            25}}};
  const std::array row = {TupleValue{TupleValue::Kind::kText, "gro\xdf"}};
  const DeadLetter letter = Write(row);
  EXPECT_EQ(letter.table(), "\\xff");
  EXPECT_EQ(letter.columns(0).name(),
            "gr\\xf6\\xdf"
            "e");
  EXPECT_EQ(letter.columns(0).value(), "gro\xdf");
}

}  // namespace
}  // namespace walrelay
