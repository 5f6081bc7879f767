#include "postgres/catalog_queries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

auto Ended(uint32_t timeline, uint64_t end) {
  return AllOf(Field(&TimelineEnd::timeline, timeline), Field(&TimelineEnd::end, Lsn(end)));
}

TEST(TimelineHistoryTest, EachLineYieldsATimelineAndItsEnd) {
  EXPECT_THAT(ParseTimelineHistory("1\t0/3000000\tno recovery target specified\n\n"
                                   "2\t1/A0\tbefore 2026-11-20 15:00:00+00\n"),
              ElementsAre(Ended(1, 0x3000000), Ended(2, 0x1000000A0)));
}

TEST(TimelineHistoryTest, CommentsAndMalformedLinesAreIgnored) {
  EXPECT_THAT(ParseTimelineHistory("# 7\t0/1\n  1 0/10 reason\nx\t0/1\n3\n4\t12\n5\t0/G\n"),
              ElementsAre(Ended(1, 0x10)));
  EXPECT_THAT(ParseTimelineHistory(""), IsEmpty());
  EXPECT_THAT(ParseTimelineHistory("99999999999999\t0/1\n-1\t0/1\n"), IsEmpty());
}

}  // namespace
}  // namespace walrelay
