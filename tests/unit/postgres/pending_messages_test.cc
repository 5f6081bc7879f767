#include "postgres/pending_messages.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace walrelay {
namespace {

class PendingMessagesTest : public ::testing::Test {
 protected:
  // Allocates a separate buffer for each message, as libpq does.
  void Add(const std::string& text) {
    char* buffer = static_cast<char*>(std::malloc(text.size() + 1));
    std::memcpy(buffer, text.c_str(), text.size() + 1);
    pending_.Add(PendingMessages::Buffer(buffer), text.size());
  }

  PendingMessages pending_;
};

TEST_F(PendingMessagesTest, KeepsOrderAndCountsBytes) {
  Add("one");
  Add("three");
  ASSERT_EQ(pending_.size(), 2u);
  EXPECT_EQ(pending_.all()[0], "one");
  EXPECT_EQ(pending_.all()[1], "three");
  EXPECT_EQ(pending_.bytes(), 8u);
  pending_.Consume(1);
  ASSERT_EQ(pending_.size(), 1u);
  EXPECT_EQ(pending_.all()[0], "three");
  EXPECT_EQ(pending_.bytes(), 5u);
  pending_.Clear();
  EXPECT_EQ(pending_.size(), 0u);
  EXPECT_EQ(pending_.bytes(), 0u);
}

// Each turn leaves messages unconsumed, as when Kafka is slower than Postgres.
TEST_F(PendingMessagesTest, MemoryIsBoundedIfNeverEmpty) {
  constexpr size_t kBacklog = 1000;
  size_t most_entries = 0;
  size_t first = 0;
  for (size_t next = 0; next < 500'000; ++next) {
    Add(std::to_string(next));
    if (pending_.size() > kBacklog) {
      ASSERT_EQ(pending_.all().front(), std::to_string(first));
      pending_.Consume(7);
      first += 7;
    }
    ASSERT_GT(pending_.size(), 0u);
    most_entries = std::max(most_entries, pending_.entries());
  }
  EXPECT_LE(most_entries, 2 * kBacklog + 16);
}

TEST_F(PendingMessagesTest, PendingMessagesSurviveMixedAddsAndConsumes) {
  size_t added = 0;
  size_t consumed = 0;
  for (size_t step = 0; step < 2000; ++step) {
    for (size_t i = 0; i < step % 5; ++i) {
      Add(std::to_string(added++));
    }
    const size_t count = std::min(pending_.size(), step % 7);
    pending_.Consume(count);
    consumed += count;
    ASSERT_EQ(pending_.size(), added - consumed);
    for (size_t i = 0; i < pending_.size(); ++i) {
      ASSERT_EQ(pending_.all()[i], std::to_string(consumed + i));
    }
  }
}

}  // namespace
}  // namespace walrelay
