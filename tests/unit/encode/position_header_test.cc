#include "encode/position_header.h"

#include <gtest/gtest.h>

#include <string>

namespace walrelay {
namespace {

using std::string_view_literals::operator""sv;

constexpr RecordPosition kRecord{
    .position = {Lsn(0x16'B374'D848), Lsn(0x16'B300'0010), 0xFEDC'BA98},
    .xid = 0x0102'0304,
    .commit_time = WallTime(Micros(0x0006'4DF1'B2C3'D4E5)),
    .history = 0xA1A2'A3A4'A5A6'A7A8,
    .routing = 0xC1C2'C3C4};

constexpr RecordPlace kPlace{.topic = "orders", .partition = 3};

std::string Encoded(const RecordPosition& record, uint32_t partitions) {
  const auto bytes = EncodePosition(record, {kPlace.topic, kPlace.partition, partitions});
  return {bytes.begin(), bytes.end()};
}

TEST(PositionHeaderTest, NumbersAreInNetworkByteOrder) {
  const std::string header = Encoded(kRecord, 12);
  EXPECT_EQ(header.size(), 48u);
  EXPECT_EQ(header.substr(0, 40),
            "\x00\x00\x00\x16\xB3\x74\xD8\x48\x00\x00\x00\x16\xB3\x00\x00\x10"
            "\xFE\xDC\xBA\x98\x01\x02\x03\x04\x00\x06\x4D\xF1\xB2\xC3\xD4\xE5"
            "\xA1\xA2\xA3\xA4\xA5\xA6\xA7\xA8"sv);
  EXPECT_EQ(header.substr(44), "\x00\x00\x00\x0C"sv);
}

TEST(PositionHeaderTest, DecodingReversesEncoding) {
  const auto stored = DecodePosition(Encoded(kRecord, 12), kPlace);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->record, kRecord);
  EXPECT_EQ(stored->partitions, 12u);
}

// A consumer may copy the headers of its input to its output.
TEST(PositionHeaderTest, RoutingDiffersElsewhere) {
  const std::string header = Encoded(kRecord, 12);
  EXPECT_NE(DecodePosition(header, {.topic = "orders", .partition = 2})->record.routing,
            kRecord.routing);
  EXPECT_NE(DecodePosition(header, {.topic = "copies", .partition = 3})->record.routing,
            kRecord.routing);
}

TEST(PositionHeaderTest, LargestNumbersFit) {
  const RecordPosition largest{.position = {Lsn(UINT64_MAX), Lsn(UINT64_MAX), UINT32_MAX},
                               .xid = UINT32_MAX,
                               .commit_time = WallTime::max(),
                               .history = UINT64_MAX,
                               .routing = UINT32_MAX};
  const auto stored = DecodePosition(Encoded(largest, UINT32_MAX), kPlace);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->record, largest);
  EXPECT_EQ(stored->partitions, UINT32_MAX);
}

TEST(PositionHeaderTest, HeaderOfAnotherLengthIsNotWalrelays) {
  const std::string header = Encoded(kRecord, 12);
  for (size_t size = 0; size < header.size(); ++size) {
    EXPECT_EQ(DecodePosition(header.substr(0, size), kPlace), std::nullopt) << size;
  }
  EXPECT_EQ(DecodePosition(header + '\0', kPlace), std::nullopt);
}

}  // namespace
}  // namespace walrelay
