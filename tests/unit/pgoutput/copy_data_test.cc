#include "pgoutput/copy_data.h"

#include <gtest/gtest.h>

#include "fakes/pgoutput_writer.h"
#include "fakes/status_matchers.h"
#include "pgoutput/wire_types.h"

namespace walrelay::pgoutput {
namespace {

using testing::KeepaliveMessage;
using testing::XLogDataMessage;

const WallTime kSent = kPostgresEpoch + Micros(123'456'789);

TEST(CopyDataTest, XLogDataGivesItsPayload) {
  const std::string bytes = XLogDataMessage("payload", kSent, Lsn(7));
  const auto data = DecodeCopyData(bytes);
  ASSERT_THAT(data, IsOk());
  const auto& xlog = std::get<XLogData>(*data);
  EXPECT_EQ(xlog.start, Lsn(7));
  EXPECT_EQ(xlog.payload, "payload");
  EXPECT_EQ(xlog.sent, kSent);
}

TEST(CopyDataTest, KeepaliveGivesPositionAndRequest) {
  const std::string bytes = KeepaliveMessage(Lsn(0x16B374D848), true, kSent);
  const auto data = DecodeCopyData(bytes);
  ASSERT_THAT(data, IsOk());
  const auto& keepalive = std::get<Keepalive>(*data);
  EXPECT_EQ(keepalive.wal_end, Lsn(0x16B374D848));
  EXPECT_EQ(keepalive.sent, kSent);
  EXPECT_TRUE(keepalive.reply_requested);
  const std::string other = KeepaliveMessage(Lsn(1), false);
  EXPECT_FALSE(std::get<Keepalive>(*DecodeCopyData(other)).reply_requested);
}

TEST(CopyDataTest, TimesOutOfRangeAreAccepted) {
  for (const char type : {'w', 'k'}) {
    testing::ByteWriter out;
    out.Put(type).Put(Lsn(1));
    if (type == 'w') {
      out.Put(Lsn(1));
    }
    EXPECT_THAT(DecodeCopyData(out.Put(INT64_MAX).Put(uint8_t{0}).Take()), IsOk());
  }
}

// The error shows a byte of the invalid message, and a hostile server may have sent it.
TEST(CopyDataTest, ControlCharactersOfTheTypeAreEscaped) {
  EXPECT_THAT(DecodeCopyData("\x1b[2J"),
              HasError(ErrorCode::kProtocolViolation, "type '\\x1b' with 4 bytes"));
}

TEST(CopyDataTest, TruncatedAndUnknownMessagesAreViolations) {
  for (const std::string& whole : {XLogDataMessage("", kSent), KeepaliveMessage(Lsn(1), false)}) {
    for (size_t length = 0; length < whole.size(); ++length) {
      EXPECT_THAT(DecodeCopyData(whole.substr(0, length)), HasError(ErrorCode::kProtocolViolation));
    }
  }
  EXPECT_THAT(DecodeCopyData("x123"), HasError(ErrorCode::kProtocolViolation));
  EXPECT_THAT(DecodeCopyData(KeepaliveMessage(Lsn(1), false) + "x"),
              HasError(ErrorCode::kProtocolViolation));
}

TEST(CopyDataTest, StandbyStatusHasTheLayoutOfPostgres) {
  const auto bytes = EncodeStandbyStatus({.received = Lsn(0x0102030405060708),
                                          .flushed = Lsn(0x1112131415161718),
                                          .now = kPostgresEpoch + Micros(1),
                                          .reply_requested = true});
  const std::string_view expected(
      "r"
      "\x01\x02\x03\x04\x05\x06\x07\x08"
      "\x11\x12\x13\x14\x15\x16\x17\x18"
      "\x11\x12\x13\x14\x15\x16\x17\x18"
      "\0\0\0\0\0\0\0\x01"
      "\x01",
      kStandbyStatusSize);
  EXPECT_EQ(std::string_view(bytes.data(), bytes.size()), expected);
  EXPECT_EQ(EncodeStandbyStatus({.flushed = Lsn(1)}).back(), 0);
}

}  // namespace
}  // namespace walrelay::pgoutput
