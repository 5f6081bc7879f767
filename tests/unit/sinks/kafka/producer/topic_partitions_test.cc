// A topic's partitions: a changed count takes effect when nothing is in flight; a changed leader
// closes the gate again.

#include "sinks/kafka/producer/topic_partitions.h"

#include <gtest/gtest.h>

#include <vector>

namespace walrelay {
namespace {

class TopicPartitionsTest : public ::testing::Test {
 protected:
  // `count` partitions, all led by broker 1.
  void Learn(size_t count) { partitions_.Learn(std::vector<int32_t>(count, 1)); }
  int LearnLeaders(std::vector<int32_t> leaders) { return partitions_.Learn(leaders); }
  void Accept(int32_t partition) { partitions_.OnAccepted(partition, now_); }
  void Deliver(int32_t partition) { partitions_.OnDelivered(partition, now_); }
  void AcceptAndDeliver(int32_t partition) {
    Accept(partition);
    Deliver(partition);
  }

  TopicPartitions partitions_;
  const MonoTime now_{std::chrono::seconds(1000)};
};

TEST_F(TopicPartitionsTest, FirstCountTakesEffectAtOnceAndIsNoChange) {
  EXPECT_EQ(partitions_.count(), 0);
  Learn(3);
  EXPECT_EQ(partitions_.count(), 3);
  EXPECT_FALSE(partitions_.TakeCountChange());
  EXPECT_TRUE(partitions_.MayEnter(2));
}

TEST_F(TopicPartitionsTest, ChangedCountWaitsUntilNothingIsInFlight) {
  Learn(3);
  AcceptAndDeliver(0);
  AcceptAndDeliver(1);
  Accept(0);
  Accept(1);
  Learn(6);
  EXPECT_EQ(partitions_.count(), 3);
  for (int32_t partition = 0; partition < 3; ++partition) {
    EXPECT_FALSE(partitions_.MayEnter(partition)) << partition;
  }
  Deliver(0);
  EXPECT_FALSE(partitions_.TakeCountChange());
  Deliver(1);
  const auto change = partitions_.TakeCountChange();
  ASSERT_TRUE(change);
  EXPECT_EQ(change->before, 3);
  EXPECT_EQ(change->now, 6);
  EXPECT_EQ(partitions_.count(), 6);
  EXPECT_TRUE(partitions_.MayEnter(5));
  EXPECT_FALSE(partitions_.TakeCountChange());
}

TEST_F(TopicPartitionsTest, RevertedChangeBlocksNothing) {
  Learn(3);
  Accept(0);
  Learn(6);
  Learn(3);
  EXPECT_TRUE(partitions_.MayEnter(1));
  Deliver(0);
  EXPECT_FALSE(partitions_.TakeCountChange());
}

using Place = TopicPartitions::Place;

// A row may name a partition that was just added, while records of the others are in flight.
TEST_F(TopicPartitionsTest, AddedPartitionWaitsUntilTheChangeTakesEffect) {
  Learn(3);
  EXPECT_EQ(partitions_.Where(2), Place::kExists);
  EXPECT_EQ(partitions_.Where(3), Place::kMissing);
  Accept(0);
  Learn(6);
  EXPECT_EQ(partitions_.Where(2), Place::kExists);
  EXPECT_EQ(partitions_.Where(5), Place::kWaits);
  EXPECT_EQ(partitions_.Where(6), Place::kMissing);
  Deliver(0);
  ASSERT_TRUE(partitions_.TakeCountChange());
  EXPECT_EQ(partitions_.Where(5), Place::kExists);
}

TEST_F(TopicPartitionsTest, OlderMetadataDoesNotMakeAPartitionDisappear) {
  Learn(3);
  Accept(0);
  Learn(6);
  Learn(3);
  EXPECT_FALSE(partitions_.changing());
  EXPECT_EQ(partitions_.Where(5), Place::kWaits);
}

TEST_F(TopicPartitionsTest, PartitionsOfARecreatedTopicAreMissing) {
  Learn(6);
  Learn(3);
  ASSERT_TRUE(partitions_.TakeCountChange());
  EXPECT_EQ(partitions_.Where(2), Place::kExists);
  EXPECT_EQ(partitions_.Where(3), Place::kMissing);
}

TEST_F(TopicPartitionsTest, NoPartitionExistsBeforeTheFirstAnswer) {
  EXPECT_EQ(partitions_.Where(0), Place::kMissing);
  Learn(1);
  EXPECT_EQ(partitions_.Where(-1), Place::kMissing);
}

TEST_F(TopicPartitionsTest, ResponseWithoutPartitionsIsIgnored) {
  Learn(3);
  Learn(0);
  EXPECT_EQ(partitions_.count(), 3);
  EXPECT_TRUE(partitions_.MayEnter(0));
}

TEST_F(TopicPartitionsTest, GrownTopicStrandsNothing) {
  Learn(3);
  Accept(0);
  Learn(6);
  EXPECT_FALSE(partitions_.stranded());
}

TEST_F(TopicPartitionsTest, FewerPartitionsStrandRecordsInFlight) {
  Learn(6);
  Accept(5);
  Learn(2);
  EXPECT_TRUE(partitions_.stranded());
}

TEST_F(TopicPartitionsTest, FewerPartitionsWithNothingInFlightCloseTheGates) {
  Learn(6);
  AcceptAndDeliver(1);
  Learn(2);
  EXPECT_FALSE(partitions_.stranded());
  ASSERT_TRUE(partitions_.TakeCountChange());
  Accept(1);
  EXPECT_FALSE(partitions_.MayEnter(1));
}

TEST_F(TopicPartitionsTest, ChangedLeaderClosesTheGateOfItsPartition) {
  LearnLeaders({1, 2});
  AcceptAndDeliver(0);
  AcceptAndDeliver(1);
  EXPECT_EQ(LearnLeaders({3, 2}), 1);
  Accept(0);
  Accept(1);
  EXPECT_FALSE(partitions_.MayEnter(0));
  EXPECT_TRUE(partitions_.MayEnter(1));
}

TEST_F(TopicPartitionsTest, TemporarilyMissingLeaderIsNoChange) {
  LearnLeaders({1});
  AcceptAndDeliver(0);
  LearnLeaders({-1});
  LearnLeaders({1});
  Accept(0);
  EXPECT_TRUE(partitions_.MayEnter(0));
}

TEST_F(TopicPartitionsTest, NewLeaderAfterAMissingOneIsAChange) {
  LearnLeaders({1});
  AcceptAndDeliver(0);
  LearnLeaders({-1});
  LearnLeaders({2});
  Accept(0);
  EXPECT_FALSE(partitions_.MayEnter(0));
}

TEST_F(TopicPartitionsTest, RecreatedTopicClosesTheGates) {
  Learn(1);
  AcceptAndDeliver(0);
  partitions_.OnMissing();
  Learn(1);
  Accept(0);
  EXPECT_FALSE(partitions_.MayEnter(0));
}

}  // namespace
}  // namespace walrelay
