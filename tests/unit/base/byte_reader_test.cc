#include "base/byte_reader.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::string_view_literals::operator""sv;

TEST(ByteReaderTest, ReadsBigEndianIntegers) {
  ByteReader in("\x01\x02\x03\x04\x05\x06\x07\xFF\xFE"sv);
  uint8_t one = 0;
  uint16_t two = 0;
  uint32_t four = 0;
  int16_t negative = 0;
  ASSERT_TRUE(in.Read(one) && in.Read(two) && in.Read(four) && in.Read(negative));
  EXPECT_EQ(one, 1);
  EXPECT_EQ(two, 0x0203);
  EXPECT_EQ(four, 0x04050607u);
  EXPECT_EQ(negative, -2);
  EXPECT_TRUE(in.at_end());
}

TEST(ByteReaderTest, FailedReadConsumesNothingAndKeepsTheOutput) {
  ByteReader in("\x01\x02\x03"sv);
  uint32_t four = 77;
  EXPECT_FALSE(in.Read(four));
  EXPECT_EQ(four, 77u);
  EXPECT_EQ(in.remaining(), 3u);
  std::string_view bytes = "kept";
  EXPECT_FALSE(in.ReadBytes(4, bytes));
  EXPECT_FALSE(in.ReadCString(bytes));
  EXPECT_EQ(bytes, "kept");
  EXPECT_TRUE(in.ReadBytes(3, bytes));
}

TEST(ByteReaderTest, LengthOfSizeMaxDoesNotWrap) {
  ByteReader in("abc"sv);
  std::string_view bytes;
  EXPECT_FALSE(in.ReadBytes(SIZE_MAX, bytes));
}

TEST(ByteReaderTest, CStringReadConsumesTheTerminatingZero) {
  ByteReader in("ab\0\0c"sv);
  std::string_view text;
  ASSERT_TRUE(in.ReadCString(text));
  EXPECT_EQ(text, "ab");
  ASSERT_TRUE(in.ReadCString(text));
  EXPECT_EQ(text, "");
  EXPECT_FALSE(in.ReadCString(text));
}

}  // namespace
}  // namespace walrelay
