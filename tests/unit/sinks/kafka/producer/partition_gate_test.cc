// The gate of each partition: a producer that the broker does not know yet sends a single record.

#include "sinks/kafka/producer/partition_gate.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

class PartitionGateTest : public ::testing::Test {
 protected:
  void Accept(int32_t partition) { gate_.OnAccepted(partition, now_); }
  void Deliver(int32_t partition) { gate_.OnDelivered(partition, now_); }
  void AcceptAndDeliver(int32_t partition) {
    Accept(partition);
    Deliver(partition);
  }
  void Pass(Micros time) { now_ += time; }

  PartitionGate gate_;
  MonoTime now_{std::chrono::seconds(1000)};
};

TEST_F(PartitionGateTest, FirstRecordMayEnter) {
  EXPECT_TRUE(gate_.IsOpen(0));
}

TEST_F(PartitionGateTest, SecondRecordWaitsForTheFirst) {
  Accept(0);
  EXPECT_FALSE(gate_.IsOpen(0));
  Deliver(0);
  EXPECT_TRUE(gate_.IsOpen(0));
}

TEST_F(PartitionGateTest, PartitionsOpenIndependently) {
  Accept(3);
  EXPECT_TRUE(gate_.IsOpen(2));
  AcceptAndDeliver(2);
  EXPECT_FALSE(gate_.IsOpen(3));
}

TEST_F(PartitionGateTest, KnownProducerMayHaveManyRecordsInFlight) {
  AcceptAndDeliver(0);
  for (int i = 0; i < 5; ++i) {
    Accept(0);
    EXPECT_TRUE(gate_.IsOpen(0));
  }
}

TEST_F(PartitionGateTest, ProducerIsUnknownAgainAfterAnHourOfSilence) {
  AcceptAndDeliver(0);
  Pass(std::chrono::minutes(61));
  EXPECT_TRUE(gate_.IsOpen(0));
  Accept(0);
  EXPECT_FALSE(gate_.IsOpen(0));
}

TEST_F(PartitionGateTest, SteadyProducerStaysKnown) {
  AcceptAndDeliver(0);
  for (int i = 0; i < 10; ++i) {
    Pass(std::chrono::minutes(50));
    Accept(0);
    EXPECT_TRUE(gate_.IsOpen(0));
  }
}

TEST_F(PartitionGateTest, FailedRecordLeavesThePartitionUnknown) {
  Accept(0);
  gate_.OnFailed(0);
  Accept(0);
  EXPECT_FALSE(gate_.IsOpen(0));
}

TEST_F(PartitionGateTest, ReclosedGateDrainsThenAdmitsOneRecord) {
  AcceptAndDeliver(0);
  Accept(0);
  Accept(0);
  gate_.Reclose(0);
  EXPECT_FALSE(gate_.IsOpen(0));
  Deliver(0);
  EXPECT_FALSE(gate_.IsOpen(0));
  Deliver(0);
  EXPECT_TRUE(gate_.IsOpen(0));
  Accept(0);
  EXPECT_FALSE(gate_.IsOpen(0));
  Deliver(0);
  Accept(0);
  EXPECT_TRUE(gate_.IsOpen(0));
}

TEST_F(PartitionGateTest, ReclosingOnePartitionLeavesTheOthersOpen) {
  AcceptAndDeliver(0);
  AcceptAndDeliver(1);
  gate_.Reclose(0);
  Accept(1);
  EXPECT_TRUE(gate_.IsOpen(1));
  Accept(0);
  EXPECT_FALSE(gate_.IsOpen(0));
  gate_.Reclose(7);  // never used
  EXPECT_TRUE(gate_.IsOpen(7));
}

TEST_F(PartitionGateTest, RecloseAllClosesUsedPartitions) {
  AcceptAndDeliver(0);
  AcceptAndDeliver(1);
  gate_.RecloseAll();
  Accept(0);
  Accept(1);
  EXPECT_FALSE(gate_.IsOpen(0));
  EXPECT_FALSE(gate_.IsOpen(1));
}

}  // namespace
}  // namespace walrelay
