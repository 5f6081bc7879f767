// The gate in front of each partition: a producer that the broker does not know yet sends one
// record.

#include "kafka/partition_gate.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

class PartitionGateTest : public ::testing::Test {
 protected:
  void Accept(int32_t partition) { gate_.OnAccepted(partition, now_); }
  void Deliver(int32_t partition) { gate_.OnDelivered(partition, now_); }
  void Pass(Micros time) { now_ += time; }

  PartitionGate gate_;
  MonoTime now_{std::chrono::seconds(1000)};
};

TEST_F(PartitionGateTest, FirstRecordEnters) {
  EXPECT_TRUE(gate_.IsOpen(0));
}

TEST_F(PartitionGateTest, SecondRecordWaitsForTheFirst) {
  Accept(0);
  EXPECT_FALSE(gate_.IsOpen(0));
  Deliver(0);
  EXPECT_TRUE(gate_.IsOpen(0));
}

TEST_F(PartitionGateTest, PartitionsAreOpenedEachForItself) {
  Accept(3);
  EXPECT_TRUE(gate_.IsOpen(2));
  Deliver(2);
  EXPECT_FALSE(gate_.IsOpen(3));
}

TEST_F(PartitionGateTest, OnceKnownManyAreInFlight) {
  Accept(0);
  Deliver(0);
  for (int i = 0; i < 5; ++i) {
    Accept(0);
    EXPECT_TRUE(gate_.IsOpen(0));
  }
}

TEST_F(PartitionGateTest, ProducerThatWasSilentForAnHourIsUnknownAgain) {
  Accept(0);
  Deliver(0);
  Pass(std::chrono::minutes(61));
  EXPECT_TRUE(gate_.IsOpen(0));
  Accept(0);
  EXPECT_FALSE(gate_.IsOpen(0));
}

TEST_F(PartitionGateTest, SteadyProducerStaysKnown) {
  Accept(0);
  Deliver(0);
  for (int i = 0; i < 10; ++i) {
    Pass(std::chrono::minutes(50));
    Accept(0);
    EXPECT_TRUE(gate_.IsOpen(0));
  }
}

TEST_F(PartitionGateTest, PartitionThatIsNotChosenYetIsNotRemembered) {
  Accept(-1);
  EXPECT_TRUE(gate_.IsOpen(-1));
}

}  // namespace
}  // namespace walrelay
