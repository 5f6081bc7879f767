#include "publish/replaceable_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/fake_kafka.h"
#include "fakes/sole_metrics.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

class ReplaceableSinkTest : public ::testing::Test {
 protected:
  absl::StatusOr<Offered> Produce(DeliveryToken token = {1, 1}) {
    return sink_.Produce(Record{.topic = "t"}, token);
  }

  testing::FakeClock clock_;
  testing::FakeKafka kafka_;
  testing::SoleMetrics metrics_;
  ReplaceableSink sink_{{.make = kafka_.Factory(),
                         .max_batch_bytes = 100'000,
                         .transaction_timeout = seconds(30),
                         .clock = clock_,
                         .metrics = metrics_}};
};

TEST_F(ReplaceableSinkTest, AcceptsNothingWithoutAProducer) {
  EXPECT_EQ(*Produce(), Wait::kQueue);
  EXPECT_FALSE(sink_.health().reachable);
  EXPECT_FALSE(sink_.health().outdated);
  EXPECT_TRUE(sink_.FatalError().ok());
  EXPECT_EQ(sink_.poll_fd(), -1);
}

TEST_F(ReplaceableSinkTest, AcceptsRecordsOnceCreated) {
  ASSERT_TRUE(sink_.Create().ok());
  EXPECT_EQ(*Produce(), Wait::kNone);
  EXPECT_EQ(sink_.created_at(), clock_.Now());
}

TEST_F(ReplaceableSinkTest, AcceptsNothingAfterAFailure) {
  ASSERT_TRUE(sink_.Create().ok());
  const MonoTime first = clock_.Now();
  EXPECT_EQ(sink_.StopForFailure(first), first);
  EXPECT_EQ(sink_.StopForFailure(first + seconds(1)), first);
  EXPECT_EQ(*Produce(), Wait::kQueue);
  ASSERT_TRUE(sink_.Create().ok());
  EXPECT_EQ(*Produce(), Wait::kNone);
}

// A transaction that has failed must not be committed: the next sink publishes its rows again.
TEST_F(ReplaceableSinkTest, CommitsNothingWithoutASinkThatWorks) {
  EXPECT_DEATH(sink_.Commit(), "has accepted a record");
  ASSERT_TRUE(sink_.Create().ok());
  sink_.StopForFailure(clock_.Now());
  EXPECT_DEATH(sink_.Commit(), "has accepted a record");
}

TEST_F(ReplaceableSinkTest, AwaitsReportsOfAFailedSinkForAWhile) {
  ASSERT_TRUE(sink_.Create().ok());
  const MonoTime failed = clock_.Now();
  EXPECT_TRUE(sink_.AwaitReports(/*all_reported=*/false, failed));
  EXPECT_TRUE(sink_.AwaitReports(/*all_reported=*/false, failed + seconds(1)));
  EXPECT_FALSE(sink_.AwaitReports(/*all_reported=*/true, failed + seconds(1)));
  EXPECT_FALSE(sink_.AwaitReports(/*all_reported=*/false, failed + seconds(6)));
}

TEST_F(ReplaceableSinkTest, AcceptsRecordsAgainWhenARenewalIsCancelled) {
  ASSERT_TRUE(sink_.Create().ok());
  sink_.StopForRenewal(clock_.Now());
  EXPECT_EQ(*Produce(), Wait::kQueue);
  EXPECT_EQ(*Produce(DeliveryToken::Progress()), Wait::kNone);
  sink_.CancelRenewal();
  EXPECT_EQ(*Produce(), Wait::kNone);
}

TEST_F(ReplaceableSinkTest, CreatesTheNextProducerWhenItIsDue) {
  ASSERT_TRUE(sink_.Create().ok());
  const MonoTime due = clock_.Now() + seconds(3);
  sink_.Retire(Error(ErrorCode::kProducerFailed, "gapless guarantee"), due);
  EXPECT_EQ(CodeOf(sink_.health().trouble), ErrorCode::kProducerFailed);
  ASSERT_TRUE(sink_.CreateIfDue(due - seconds(1)).ok());
  EXPECT_FALSE(sink_.exists());
  ASSERT_TRUE(sink_.CreateIfDue(due).ok());
  EXPECT_TRUE(sink_.exists());
  EXPECT_EQ(sink_.retry_at(), std::nullopt);
  EXPECT_TRUE(sink_.health().trouble.ok());
}

TEST_F(ReplaceableSinkTest, RetriesLaterWhenItCannotBeCreated) {
  ASSERT_TRUE(sink_.Create().ok());
  sink_.Retire(Error(ErrorCode::kProducerFailed, "gapless guarantee"), clock_.Now());
  kafka_.factory_error = Error(ErrorCode::kSecretFile, "/run/secret");
  EXPECT_EQ(CodeOf(sink_.CreateIfDue(clock_.Now())), ErrorCode::kSecretFile);
  EXPECT_GT(*sink_.retry_at(), clock_.Now());
}

TEST_F(ReplaceableSinkTest, ReducesBatchesDownToAMinimum) {
  sink_.ShrinkBatches();
  ASSERT_TRUE(sink_.Create().ok());
  EXPECT_EQ(kafka_.request.max_batch_bytes, 25'000);
  for (int i = 0; i < 10; ++i) {
    sink_.ShrinkBatches();
  }
  ASSERT_TRUE(sink_.Create().ok());
  EXPECT_EQ(kafka_.request.max_batch_bytes, 1024);
  sink_.ResetBatches();
  ASSERT_TRUE(sink_.Create().ok());
  EXPECT_EQ(kafka_.request.max_batch_bytes, 100'000);
}

// Brokers that are slow must not get the same records again and again.
TEST_F(ReplaceableSinkTest, AllowsMoreTimeUpToTheTimeoutOfTheTransaction) {
  for (const Micros limit : {seconds(10), seconds(20), seconds(30), seconds(30)}) {
    ASSERT_TRUE(sink_.Create().ok());
    EXPECT_EQ(kafka_.request.commit_limit, limit);
    sink_.AllowMoreTime();
  }
  sink_.ResetTime();
  ASSERT_TRUE(sink_.Create().ok());
  EXPECT_EQ(kafka_.request.commit_limit, seconds(10));
}

}  // namespace
}  // namespace walrelay
