#include "base/worker_thread.h"

#include <gtest/gtest.h>

#include <future>

namespace walrelay {
namespace {

TEST(WorkerThreadTest, EndOfTheOwnerInterruptsTheRest) {
  std::promise<void> resting;
  bool stopped = false;
  {
    WorkerThread worker;
    worker.Start([&] {
      EXPECT_TRUE(worker.Rest(Micros(1)));
      resting.set_value();
      stopped = !worker.Rest(std::chrono::hours(1));
      pollfd polled{worker.stop_fd(), POLLIN, 0};
      EXPECT_EQ(::poll(&polled, 1, 0), 1);
    });
    resting.get_future().wait();
  }
  EXPECT_TRUE(stopped);
}

TEST(WorkerThreadTest, NeedNotStart) {
  const WorkerThread worker;
}

}  // namespace
}  // namespace walrelay
