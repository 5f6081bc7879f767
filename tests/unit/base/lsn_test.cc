#include "walrelay/lsn.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

TEST(LsnTest, PrintsAsPostgresDoes) {
  EXPECT_EQ(Lsn(0).ToString(), "0/0");
  EXPECT_EQ(Lsn(0x16B374D848).ToString(), "16/B374D848");
  EXPECT_EQ(Lsn(UINT64_MAX).ToString(), "FFFFFFFF/FFFFFFFF");
}

TEST(LsnTest, ParseReadsTheOutputOfToString) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{0x16B374D848}, UINT64_MAX}) {
    EXPECT_EQ(Lsn::Parse(Lsn(value).ToString()), Lsn(value));
  }
  EXPECT_EQ(Lsn::Parse("0/abc"), Lsn(0xABC));
}

TEST(LsnTest, ParseRefusesInvalidPositions) {
  for (const char* text :
       {"", "/", "0", "0/", "/0", "0/0/0", "g/0", "0/ 1", "-1/0", "123456789/0", "0/0x1"}) {
    EXPECT_EQ(Lsn::Parse(text), std::nullopt) << text;
  }
}

TEST(LsnTest, DistanceIsNeverNegative) {
  EXPECT_EQ(BytesBetween(Lsn(10), Lsn(14)), 4u);
  EXPECT_EQ(BytesBetween(Lsn(14), Lsn(10)), 0u);
}

}  // namespace
}  // namespace walrelay
