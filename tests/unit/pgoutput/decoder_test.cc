#include "pgoutput/decoder.h"

#include <gtest/gtest.h>

#include <random>

#include "fakes/allocation_counter.h"
#include "fakes/pgoutput_writer.h"
#include "fakes/status_matchers.h"

namespace walrelay::pgoutput {
namespace {

using testing::Row;
using testing::TextRow;
using testing::Value;

const WallTime kCommitTime = kPostgresEpoch + std::chrono::hours(24 * 365 * 26);

class DecoderTest : public ::testing::Test {
 protected:
  // Decodes `bytes`, which must be a T.
  template <typename T>
  T Decode(const std::string& bytes) {
    bytes_ = bytes;
    const auto message = decoder_.Decode(bytes_);
    EXPECT_THAT(message, IsOk());
    return message.ok() ? std::get<T>(*message) : T{};
  }

  void ExpectViolation(const std::string& bytes, const char* part = "") {
    EXPECT_THAT(decoder_.Decode(bytes), HasError(ErrorCode::kProtocolViolation, part));
  }

  Decoder decoder_;
  std::string bytes_;
};

TEST_F(DecoderTest, BeginIsDecoded) {
  const auto begin = Decode<Begin>(testing::BeginMessage(Lsn(0x1543760), kCommitTime, 733));
  EXPECT_EQ(begin.final_lsn, Lsn(0x1543760));
  EXPECT_EQ(begin.commit_time, kCommitTime);
  EXPECT_EQ(begin.xid, 733u);
}

TEST_F(DecoderTest, CommitIsDecoded) {
  const auto commit = Decode<Commit>(testing::CommitMessage(Lsn(0x10), Lsn(0x38), kCommitTime));
  EXPECT_EQ(commit.commit_lsn, Lsn(0x10));
  EXPECT_EQ(commit.end_lsn, Lsn(0x38));
}

TEST_F(DecoderTest, OriginTypeAndLogicalMessageAreDecoded) {
  EXPECT_EQ(Decode<Origin>(testing::OriginMessage(Lsn(5), "elsewhere")).name, "elsewhere");
  EXPECT_EQ(Decode<Type>(testing::TypeMessage(16400, "app", "mood")).name, "mood");
  const auto message =
      Decode<LogicalMessage>(testing::LogicalMessage(true, Lsn(9), "outbox", "{}"));
  EXPECT_TRUE(message.transactional);
  EXPECT_EQ(message.prefix, "outbox");
  EXPECT_EQ(message.content, "{}");
}

// Recorded from Postgres 18.4 with protocol version 1 and without streaming.
TEST_F(DecoderTest, StreamAbortWithoutStreamingIsDecoded) {
  const std::string recorded("\x41\x00\x00\x02\xf3\x00\x00\x02\xf4", 9);
  const auto abort = Decode<StreamAbort>(recorded);
  EXPECT_EQ(abort.xid, 755u);
  EXPECT_EQ(abort.subxid, 756u);
  EXPECT_EQ(recorded, testing::StreamAbortMessage(755, 756));
}

// LSN and time are present only with parallel streaming, protocol version 4.
TEST_F(DecoderTest, StreamAbortOfALaterProtocolIsAViolation) {
  ExpectViolation(testing::StreamAbortMessage(755, 756) + std::string(16, '\0'), "excess");
}

TEST_F(DecoderTest, RelationIsDecoded) {
  const auto relation = Decode<Relation>(
      testing::RelationMessage(16385, "public", "outbox", {{"id", 2950, true}, {"payload", 3802}}));
  EXPECT_EQ(relation.oid, 16385u);
  EXPECT_EQ(relation.schema, "public");
  EXPECT_EQ(relation.name, "outbox");
  ASSERT_EQ(relation.columns.size(), 2u);
  EXPECT_EQ(relation.columns[0].name, "id");
  EXPECT_TRUE(relation.columns[0].part_of_key);
  EXPECT_EQ(relation.columns[1].type_oid, 3802u);
}

TEST_F(DecoderTest, EmptySchemaIsPgCatalog) {
  EXPECT_EQ(Decode<Relation>(testing::RelationMessage(1, "", "x", {})).schema, "pg_catalog");
  EXPECT_EQ(Decode<Type>(testing::TypeMessage(16400, "", "bytea")).schema, "pg_catalog");
}

TEST_F(DecoderTest, InsertWithTextBinaryAndNullIsDecoded) {
  const auto insert = Decode<Insert>(
      testing::InsertMessage(7, Row{Value::Text("order"), Value::Binary(std::string("\0\x01", 2)),
                                    Value::Null(), Value::Text("")}));
  EXPECT_EQ(insert.relation_oid, 7u);
  ASSERT_EQ(insert.row.size(), 4u);
  EXPECT_EQ(insert.row[0].bytes, "order");
  EXPECT_EQ(insert.row[1].kind, TupleValue::Kind::kBinary);
  EXPECT_EQ(insert.row[1].bytes, std::string_view("\0\x01", 2));
  EXPECT_TRUE(insert.row[2].is_null());
  EXPECT_FALSE(insert.row[3].is_null());
}

TEST_F(DecoderTest, UnchangedToastIsValidOnlyInTheNewRowOfAnUpdate) {
  const auto update =
      Decode<Update>(testing::UpdateMessage(7, Row{Value::Text("1"), Value::Unchanged()}));
  EXPECT_EQ(update.row[1].kind, TupleValue::Kind::kUnchangedToast);
  EXPECT_FALSE(update.old_row);
  ExpectViolation(testing::InsertMessage(7, Row{Value::Unchanged()}));
  ExpectViolation(testing::DeleteMessage(7, Row{Value::Unchanged()}));
  ExpectViolation(testing::UpdateMessage(7, Row{Value::Text("1")}, Row{Value::Unchanged()}));
}

TEST_F(DecoderTest, UpdateKeepsOldAndNewRowSeparate) {
  const auto update =
      Decode<Update>(testing::UpdateMessage(7, Row{Value::Text("new")}, Row{Value::Text("old")}));
  ASSERT_TRUE(update.old_row);
  EXPECT_EQ((*update.old_row)[0].bytes, "old");
  EXPECT_EQ(update.row[0].bytes, "new");
}

TEST_F(DecoderTest, DeleteAndTruncateAreDecoded) {
  EXPECT_EQ(Decode<Delete>(testing::DeleteMessage(7, Row{Value::Text("1")})).old_row.size(), 1u);
  const auto truncate = Decode<Truncate>(testing::TruncateMessage({7, 8}, 3));
  EXPECT_EQ(std::vector<uint32_t>(truncate.relation_oids.begin(), truncate.relation_oids.end()),
            (std::vector<uint32_t>{7, 8}));
  EXPECT_TRUE(truncate.cascade);
  EXPECT_TRUE(truncate.restart_identity);
}

TEST_F(DecoderTest, StreamedAndPreparedTransactionsAreRefusedByName) {
  for (const char type : std::string_view("SEcbPKrp")) {
    ExpectViolation(std::string(1, type) + std::string(40, '\0'), "not requested");
  }
}

// Postgres 13 sends it for an origin that it does not find.
TEST_F(DecoderTest, EmptyMessageIsAnOriginWithoutAName) {
  EXPECT_EQ(Decode<Origin>("").name, "");
}

TEST_F(DecoderTest, UnknownTypesAreViolations) {
  ExpectViolation("Z");
  ExpectViolation(std::string(1, '\0'));
}

std::vector<std::string> OneOfEach() {
  return {testing::BeginMessage(Lsn(1), kCommitTime, 2),
          testing::CommitMessage(Lsn(1), Lsn(2), kCommitTime),
          testing::OriginMessage(Lsn(1), "o"),
          testing::TypeMessage(16400, "app", "mood"),
          testing::RelationMessage(1, "s", "t", {{"a", 25, true}, {"b", 25}}),
          testing::InsertMessage(1, Row{Value::Text("abc"), Value::Null(), Value::Binary("x")}),
          testing::UpdateMessage(1, Row{Value::Text("abc")}, Row{Value::Text("abd")}),
          testing::DeleteMessage(1, Row{Value::Text("abc")}),
          testing::TruncateMessage({1, 2}),
          testing::LogicalMessage(true, Lsn(1), "p", "content"),
          testing::StreamAbortMessage(756, 757)};
}

TEST_F(DecoderTest, EveryTruncatedMessageIsAViolation) {
  for (const std::string& whole : OneOfEach()) {
    for (size_t length = 1; length < whole.size(); ++length) {
      EXPECT_THAT(decoder_.Decode(whole.substr(0, length)), HasError(ErrorCode::kProtocolViolation))
          << whole[0] << " truncated to " << length;
    }
  }
}

TEST_F(DecoderTest, TrailingBytesAreAViolation) {
  for (const std::string& whole : OneOfEach()) {
    ExpectViolation(whole + "x", "excess");
  }
}

// 'K': the key of the old row; 'O': the whole old row; 'N': the new row.
TEST_F(DecoderTest, RowMarkersOfOtherMessagesAreViolations) {
  const std::string insert = testing::InsertMessage(7, Row{Value::Text("1")});
  const std::string change = testing::UpdateMessage(7, Row{Value::Text("1")});
  const std::string removal = testing::DeleteMessage(7, Row{Value::Text("1")});
  constexpr size_t kMarker = 5;
  for (const char marker : std::string_view("KOxn\0", 5)) {
    ExpectViolation(std::string(insert).replace(kMarker, 1, 1, marker));
    ExpectViolation(std::string(change).replace(kMarker, 1, 1, marker));
  }
  for (const char marker : std::string_view("Nxk\0", 4)) {
    ExpectViolation(std::string(removal).replace(kMarker, 1, 1, marker));
  }
  EXPECT_EQ(Decode<Delete>(std::string(removal).replace(kMarker, 1, "O")).old_row.size(), 1u);
}

TEST_F(DecoderTest, ValueOfAnUnknownKindIsAViolation) {
  for (const char kind : std::string_view("Nx\0\xFF", 4)) {
    ExpectViolation(testing::InsertMessage(7, Row{{kind, ""}}));
  }
}

// An unknown flag may change the meaning of the message.
TEST_F(DecoderTest, CommitWithFlagsIsAViolation) {
  std::string commit = testing::CommitMessage(Lsn(1), Lsn(2), kCommitTime);
  commit[1] = 1;
  ExpectViolation(commit);
}

// A replication origin may set any commit time: the transaction is not rejected for it.
TEST_F(DecoderTest, TimesOutOfRangeBecomeTheNearestLimit) {
  const auto begin = [](int64_t micros) {
    return testing::ByteWriter().Put('B').Put(Lsn(1)).Put(micros).Put(7u).Take();
  };
  constexpr int64_t kInfinity = INT64_MAX;
  EXPECT_EQ(Decode<Begin>(begin(kInfinity)).commit_time, kLatestTime);
  EXPECT_EQ(Decode<Begin>(begin(-kInfinity - 1)).commit_time, kEarliestTime);
  EXPECT_EQ(Decode<Begin>(begin(ToPostgresTime(kLatestTime))).commit_time, kLatestTime);
  EXPECT_EQ(Decode<Begin>(begin(ToPostgresTime(kEarliestTime))).commit_time, kEarliestTime);
  EXPECT_EQ(Decode<Begin>(begin(0)).commit_time, kPostgresEpoch);
}

TEST_F(DecoderTest, EachMessageIsDecodedIndependently) {
  Decode<Insert>(testing::InsertMessage(7, TextRow({"a", "b", "c"})));
  EXPECT_EQ(Decode<Insert>(testing::InsertMessage(7, TextRow({"d"}))).row.size(), 1u);
  Decode<Update>(testing::UpdateMessage(7, TextRow({"a"}), TextRow({"b"})));
  EXPECT_FALSE(Decode<Update>(testing::UpdateMessage(7, TextRow({"a"}))).old_row);
  ExpectViolation("I");
  EXPECT_EQ(Decode<Truncate>(testing::TruncateMessage({9})).relation_oids.size(), 1u);
}

TEST_F(DecoderTest, RowAndTableMayHaveNoColumns) {
  EXPECT_TRUE(Decode<Insert>(testing::InsertMessage(7, {})).row.empty());
  EXPECT_TRUE(Decode<Relation>(testing::RelationMessage(7, "s", "t", {})).columns.empty());
  EXPECT_TRUE(Decode<Truncate>(testing::TruncateMessage({})).relation_oids.empty());
}

TEST_F(DecoderTest, CountsBeyondTheMessageAreViolations) {
  // 65,535 columns announced, none present; a value of 4 GiB; 2^32-1 truncated tables.
  ExpectViolation(testing::ByteWriter().Put('I').Put(1u).Put('N').Put(uint16_t{65535}).Take());
  ExpectViolation(testing::ByteWriter()
                      .Put('I')
                      .Put(1u)
                      .Put('N')
                      .Put(uint16_t{1})
                      .Put('t')
                      .Put(UINT32_MAX)
                      .PutBytes("abc")
                      .Take());
  ExpectViolation(testing::ByteWriter()
                      .Put('R')
                      .Put(1u)
                      .PutCString("s")
                      .PutCString("t")
                      .Put('d')
                      .Put(uint16_t{65535})
                      .Take());
  ExpectViolation(testing::ByteWriter().Put('T').Put(UINT32_MAX).Put(uint8_t{0}).Put(1u).Take());
}

TEST_F(DecoderTest, RepeatedMessagesAreDecodedWithoutAllocation) {
  const std::vector<std::string> all = OneOfEach();
  const auto decode_all = [&] {
    for (const std::string& bytes : all) {
      EXPECT_TRUE(decoder_.Decode(bytes).ok());
    }
  };
  decode_all();
  EXPECT_EQ(testing::AllocationsDuring(decode_all), 0u);
}

TEST_F(DecoderTest, CorruptedMessagesAreNeverReadOutOfBounds) {
  // Under AddressSanitizer this is a small fuzzer. Otherwise decoding must not crash, and must
  // return a message or an error.
  std::mt19937_64 random(4);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::string> all = OneOfEach();
    std::string bytes = all[random() % all.size()];
    bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto message = decoder_.Decode(bytes);
    if (!message.ok()) {
      EXPECT_THAT(message, HasError(ErrorCode::kProtocolViolation));
    }
  }
}

}  // namespace
}  // namespace walrelay::pgoutput
