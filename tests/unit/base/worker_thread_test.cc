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

TEST(WorkerThreadTest, WakingEndsOneRest) {
  std::promise<void> woken;
  {
    WorkerThread worker;
    worker.Wake();  // before the rest, and twice: both end the same one
    worker.Wake();
    worker.Start([&] {
      EXPECT_TRUE(worker.Rest(std::chrono::hours(1)));
      woken.set_value();
      EXPECT_FALSE(worker.Rest(std::chrono::hours(1)));
    });
    woken.get_future().wait();
  }
}

TEST(WorkerThreadTest, RequestToStopComesBeforeAWakeUp) {
  WorkerThread worker;
  worker.Wake();
  worker.Stop();
  EXPECT_FALSE(worker.Rest(std::chrono::hours(1)));
}

TEST(WorkerThreadTest, NeedNotStart) {
  const WorkerThread worker;
}

}  // namespace
}  // namespace walrelay
