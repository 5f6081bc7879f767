#include "publish/replaceable_producer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/fake_kafka.h"
#include "fakes/sole_metrics.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

class ReplaceableProducerTest : public ::testing::Test {
 protected:
  absl::StatusOr<Offered> Produce(DeliveryToken token = {1, 1}) {
    return producer_.Produce(Record{.topic = "t"}, token);
  }

  testing::FakeClock clock_;
  testing::FakeKafka kafka_;
  testing::SoleMetrics metrics_;
  ReplaceableProducer producer_{{.make = kafka_.Factory(),
                                 .max_batch_bytes = 100'000,
                                 .transaction_timeout = seconds(30),
                                 .clock = clock_,
                                 .metrics = metrics_}};
};

TEST_F(ReplaceableProducerTest, AcceptsNothingWithoutAProducer) {
  EXPECT_EQ(*Produce(), Wait::kQueue);
  EXPECT_FALSE(producer_.health().reachable);
  EXPECT_FALSE(producer_.health().outdated);
  EXPECT_TRUE(producer_.FatalError().ok());
  EXPECT_EQ(producer_.poll_fd(), -1);
}

TEST_F(ReplaceableProducerTest, AcceptsRecordsOnceCreated) {
  ASSERT_TRUE(producer_.Create().ok());
  EXPECT_EQ(*Produce(), Wait::kNone);
  EXPECT_EQ(producer_.created_at(), clock_.Now());
}

TEST_F(ReplaceableProducerTest, AcceptsNothingAfterAFailure) {
  ASSERT_TRUE(producer_.Create().ok());
  const MonoTime first = clock_.Now();
  EXPECT_EQ(producer_.StopForFailure(first), first);
  EXPECT_EQ(producer_.StopForFailure(first + seconds(1)), first);
  EXPECT_EQ(*Produce(), Wait::kQueue);
  ASSERT_TRUE(producer_.Create().ok());
  EXPECT_EQ(*Produce(), Wait::kNone);
}

TEST_F(ReplaceableProducerTest, AcceptsRecordsAgainWhenARenewalIsCancelled) {
  ASSERT_TRUE(producer_.Create().ok());
  producer_.StopForRenewal(clock_.Now());
  EXPECT_EQ(*Produce(), Wait::kQueue);
  EXPECT_EQ(*Produce(DeliveryToken::Progress()), Wait::kNone);
  producer_.CancelRenewal();
  EXPECT_EQ(*Produce(), Wait::kNone);
}

TEST_F(ReplaceableProducerTest, CreatesTheNextProducerWhenItIsDue) {
  ASSERT_TRUE(producer_.Create().ok());
  const MonoTime due = clock_.Now() + seconds(3);
  producer_.Retire(Error(ErrorCode::kProducerFailed, "gapless guarantee"), due);
  EXPECT_EQ(CodeOf(producer_.health().trouble), ErrorCode::kProducerFailed);
  ASSERT_TRUE(producer_.CreateIfDue(due - seconds(1)).ok());
  EXPECT_FALSE(producer_.exists());
  ASSERT_TRUE(producer_.CreateIfDue(due).ok());
  EXPECT_TRUE(producer_.exists());
  EXPECT_EQ(producer_.retry_at(), std::nullopt);
  EXPECT_TRUE(producer_.health().trouble.ok());
}

TEST_F(ReplaceableProducerTest, RetriesLaterWhenItCannotBeCreated) {
  ASSERT_TRUE(producer_.Create().ok());
  producer_.Retire(Error(ErrorCode::kProducerFailed, "gapless guarantee"), clock_.Now());
  kafka_.factory_error = Error(ErrorCode::kSecretFile, "/run/secret");
  EXPECT_EQ(CodeOf(producer_.CreateIfDue(clock_.Now())), ErrorCode::kSecretFile);
  EXPECT_GT(*producer_.retry_at(), clock_.Now());
}

TEST_F(ReplaceableProducerTest, ReducesBatchesDownToAMinimum) {
  producer_.ShrinkBatches();
  ASSERT_TRUE(producer_.Create().ok());
  EXPECT_EQ(kafka_.request.max_batch_bytes, 25'000);
  for (int i = 0; i < 10; ++i) {
    producer_.ShrinkBatches();
  }
  ASSERT_TRUE(producer_.Create().ok());
  EXPECT_EQ(kafka_.request.max_batch_bytes, 1024);
  producer_.ResetBatches();
  ASSERT_TRUE(producer_.Create().ok());
  EXPECT_EQ(kafka_.request.max_batch_bytes, 100'000);
}

// Brokers that are slow must not get the same records again and again.
TEST_F(ReplaceableProducerTest, AllowsMoreTimeUpToTheTimeoutOfTheTransaction) {
  for (const Micros limit : {seconds(10), seconds(20), seconds(30), seconds(30)}) {
    ASSERT_TRUE(producer_.Create().ok());
    EXPECT_EQ(kafka_.request.commit_limit, limit);
    producer_.AllowMoreTime();
  }
  producer_.ResetTime();
  ASSERT_TRUE(producer_.Create().ok());
  EXPECT_EQ(kafka_.request.commit_limit, seconds(10));
}

}  // namespace
}  // namespace walrelay
