#include "base/ring_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace walrelay {
namespace {

TEST(RingQueueTest, BehavesAsADequeOnRandomTraces) {
  std::mt19937_64 random(1);
  RingQueue<int> queue;
  std::deque<int> model;
  for (int step = 0; step < 20'000; ++step) {
    switch (random() % 5) {
      case 0:
      case 1:
        queue.push_back(step);
        model.push_back(step);
        break;
      case 2:
        if (!model.empty()) {
          queue.pop_front();
          model.pop_front();
        }
        break;
      case 3:
        if (!model.empty()) {
          queue.pop_back();
          model.pop_back();
        }
        break;
      default:
        if (random() % 100 == 0) {
          queue.clear();
          model.clear();
        }
    }
    ASSERT_EQ(queue.size(), model.size());
    for (size_t i = 0; i < model.size(); i += 1 + model.size() / 8) {
      ASSERT_EQ(queue[i], model[i]);
    }
  }
}

TEST(RingQueueDeathTest, OutOfRangeAccessAborts) {
  RingQueue<int> queue;
  EXPECT_DEATH(queue.front(), "inside the queue");
  EXPECT_DEATH(queue.pop_front(), "has a front");
}

}  // namespace
}  // namespace walrelay
