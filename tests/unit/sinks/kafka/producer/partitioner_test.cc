#include "sinks/kafka/producer/partitioner.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

// Hashes from Kafka's own tests (org.apache.kafka.common.utils.UtilsTest).
TEST(PartitionerTest, PartitionIsThatOfTheJavaProducer) {
  EXPECT_EQ(JavaPartition("21", 97), (-973932308 & 0x7FFFFFFF) % 97);
  EXPECT_EQ(JavaPartition("foobar", 97), (-790332482 & 0x7FFFFFFF) % 97);
  EXPECT_EQ(JavaPartition("abc", 97), 479470107 % 97);
  EXPECT_EQ(JavaPartition("", 97), 275646681 % 97);
}

TEST(PartitionerTest, TopicWithoutPartitionsHasNone) {
  EXPECT_EQ(JavaPartition("abc", 0), -1);
  EXPECT_EQ(JavaPartition("abc", -1), -1);
  EXPECT_EQ(JavaPartition("abc", 1), 0);
}

}  // namespace
}  // namespace walrelay
