// When records were acknowledged. The interceptor itself is tested with the producer.

#include "sinks/kafka/producer/acknowledgement_times.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace walrelay {
namespace {

constexpr MonoTime At(int64_t micros) {
  return MonoTime(Micros(micros));
}

TEST(AcknowledgementTimesTest, UnknownUntilAdded) {
  AcknowledgementTimes times;
  EXPECT_EQ(times.Find({7, 1}), std::nullopt);
  EXPECT_EQ(times.Find(DeliveryToken::Progress()), std::nullopt);
  times.Add({7, 1}, At(5));
  EXPECT_EQ(times.Find({7, 1}), At(5));
  EXPECT_EQ(times.Find({7, 2}), std::nullopt);
}

TEST(AcknowledgementTimesTest, RowsOfATransactionAndOfItsSuccessorsAreKept) {
  AcknowledgementTimes times;
  for (uint32_t i = 1; i <= 500; ++i) {
    times.Add({7, i}, At(i));
  }
  for (uint32_t i = 1; i <= 500; ++i) {
    EXPECT_EQ(times.Find({7, i}), At(i));
  }
  for (uint32_t i = 1; i <= 500; ++i) {
    times.Add({i, 1}, At(1'000 + i));
  }
  for (uint32_t i = 1; i <= 500; ++i) {
    EXPECT_EQ(times.Find({i, 1}), At(1'000 + i));
  }
}

TEST(AcknowledgementTimesTest, AnOverwrittenTimeIsUnknown) {
  AcknowledgementTimes times;
  times.Add({1, 1}, At(1));
  for (uint32_t i = 2; i < 5'000; ++i) {
    times.Add({i, 1}, At(i));
  }
  EXPECT_EQ(times.Find({1, 1}), std::nullopt);
  EXPECT_EQ(times.Find({4'999, 1}), At(4'999));
}

// A time that is found is never earlier than that of the record.
TEST(AcknowledgementTimesTest, AddedByAnotherThread) {
  AcknowledgementTimes times;
  std::atomic<uint32_t> added{0};
  std::thread broker([&] {
    for (uint32_t i = 1; i <= 20'000; ++i) {
      times.Add({i, 1}, At(i));
      added.store(i, std::memory_order_release);
    }
  });
  for (uint32_t last = 0; last < 20'000;) {
    last = added.load(std::memory_order_acquire);
    const auto found = times.Find({last, 1});
    if (found) {
      EXPECT_GE(*found, At(last));
    }
  }
  broker.join();
}

}  // namespace
}  // namespace walrelay
