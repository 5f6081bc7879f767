#include "postgres/incoming_message.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// 275 MiB are left: 100 MiB times 2.75.
TEST(IncomingMessageTest, MessageFitsIfItsCopiesDo) {
  EXPECT_THAT(FitsIntoMemory(100 * kMiB, 315 * kMiB, 40 * kMiB), IsOk());
  EXPECT_THAT(FitsIntoMemory(101 * kMiB, 315 * kMiB, 40 * kMiB),
              HasError(ErrorCode::kRowExceedsMemory,
                       "a row of up to 101.0 MiB arrives, and takes up to 277.8 MiB; this process "
                       "may have 315.0 MiB, and has 40.0 MiB already"));
}

TEST(IncomingMessageTest, NothingFitsIntoAProcessAtItsLimit) {
  EXPECT_THAT(FitsIntoMemory(kMiB, 315 * kMiB, 316 * kMiB), HasError(ErrorCode::kRowExceedsMemory));
}

TEST(IncomingMessageTest, EverythingFitsWithoutALimit) {
  EXPECT_THAT(FitsIntoMemory(1024 * kMiB, std::nullopt, 40 * kMiB), IsOk());
}

// The largest row of Postgres, with the limit of the unit and the chart.
TEST(IncomingMessageTest, LargestRowFitsIntoTheDefaultLimit) {
  EXPECT_THAT(FitsIntoMemory(1024 * kMiB, 3072 * kMiB, 150 * kMiB), IsOk());
}

}  // namespace
}  // namespace walrelay
