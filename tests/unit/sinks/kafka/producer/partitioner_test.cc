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

TEST(PartitionerTest, OwnPartitionThenKeyThenTransactionDecides) {
  EXPECT_EQ(PartitionOf({.key = "21", .partition = 5}, {.transaction = 3}, 97, false), 5);
  EXPECT_EQ(PartitionOf({.key = "21"}, {.transaction = 3}, 97, false), JavaPartition("21", 97));
  EXPECT_EQ(PartitionOf({}, {.transaction = 100}, 97, false), 3);
}

// Numbers of transactions begin again with each process.
TEST(PartitionerTest, RepeatableRecordWithoutAKeyGoesByItsPosition) {
  RecordPosition position;
  position.position.commit_lsn = Lsn(7);
  const Record record{.position = position};
  EXPECT_EQ(PartitionOf(record, {.transaction = 1}, 97, true),
            PartitionOf(record, {.transaction = 2}, 97, true));
  EXPECT_NE(PartitionOf(record, {.transaction = 1}, 97, false),
            PartitionOf(record, {.transaction = 2}, 97, false));
}

}  // namespace
}  // namespace walrelay
