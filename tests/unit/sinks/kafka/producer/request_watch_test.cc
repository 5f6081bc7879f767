// What a producer's requests show. The interceptors themselves are tested with the producer.

#include "sinks/kafka/producer/request_watch.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

constexpr int16_t kProduce = 0;
constexpr int16_t kInitProducerId = 22;
constexpr int16_t kAddPartitions = 24;
constexpr int16_t kEndTxn = 26;

constexpr Micros After(int64_t millis) {
  return std::chrono::milliseconds(millis);
}

TEST(RequestWatchTest, CountsCommitsAndAnswersToClaims) {
  RequestWatch watch;
  watch.OnSent(kInitProducerId, After(1));
  EXPECT_EQ(watch.claims_answered(), 0U);
  watch.OnAnswered(kInitProducerId, After(2));
  EXPECT_EQ(watch.claims_answered(), 1U);
  watch.OnSent(kEndTxn, After(3));
  watch.OnSent(kEndTxn, After(4));
  EXPECT_EQ(watch.commits_sent(), 2U);
}

TEST(RequestWatchTest, ARegistrationIsRepeatedIfNoRecordWasSentMeanwhile) {
  RequestWatch watch;
  watch.OnSent(kAddPartitions, After(100));
  watch.OnSent(kAddPartitions, After(121));
  EXPECT_EQ(watch.repeated_registrations(), 1U);
  watch.OnSent(kProduce, After(123));
  watch.OnSent(kAddPartitions, After(150));
  EXPECT_EQ(watch.repeated_registrations(), 1U);
}

TEST(RequestWatchTest, MorePartitionsSoonAreNoRepetition) {
  RequestWatch watch;
  watch.OnSent(kAddPartitions, After(100));
  watch.OnSent(kAddPartitions, After(102));
  EXPECT_EQ(watch.repeated_registrations(), 0U);
}

TEST(RequestWatchTest, TheNextTransactionStartsAnew) {
  RequestWatch watch;
  watch.OnSent(kAddPartitions, After(100));
  watch.OnSent(kEndTxn, After(110));
  watch.OnAnswered(kEndTxn, After(112));
  EXPECT_EQ(watch.registration_delay(), Micros(0));
  watch.OnSent(kAddPartitions, After(140));
  EXPECT_EQ(watch.registration_delay(), After(28));
  watch.OnSent(kAddPartitions, After(161));
  EXPECT_EQ(watch.registration_delay(), After(28));
  EXPECT_EQ(watch.repeated_registrations(), 1U);
}

}  // namespace
}  // namespace walrelay
