#include "base/request_thread.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <vector>

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

struct Sums {
  std::vector<int> requests;
  std::vector<int> results;
};

class RequestThreadTest : public ::testing::Test {
 protected:
  ~RequestThreadTest() override { ::close(wakeup_); }

  // Waits until the thread has signalled the eventfd.
  bool WaitForResult() const {
    pollfd event{wakeup_, POLLIN, 0};
    return ::poll(&event, 1, 60'000) == 1;
  }

  const int wakeup_ = ::eventfd(0, EFD_NONBLOCK);
};

bool HasRequest(const Sums& sums) {
  return !sums.requests.empty();
}

TEST_F(RequestThreadTest, ServesRequestsAndWakesTheOwner) {
  RequestThread<Sums> thread(wakeup_);
  thread.Start([&] {
    while (thread.Await(HasRequest)) {
      const std::vector<int> requests =
          thread.Access([](Sums& sums) { return std::exchange(sums.requests, {}); });
      thread.Post([&](Sums& sums) {
        for (const int request : requests) {
          sums.results.push_back(request + 1);
        }
      });
    }
  });
  thread.Ask([](Sums& sums) { sums.requests.push_back(41); });
  ASSERT_TRUE(WaitForResult());
  EXPECT_EQ(thread.Access([](Sums& sums) { return sums.results; }), std::vector<int>{42});
}

TEST_F(RequestThreadTest, StopEndsAWaitWithoutALimit) {
  RequestThread<Sums> thread(wakeup_);
  thread.Start([&] {
    const bool asked = thread.Await(HasRequest);
    thread.Post([&](Sums& sums) { sums.results.push_back(asked ? 1 : 0); });
  });
  thread.Stop();
  ASSERT_TRUE(WaitForResult());
  EXPECT_TRUE(thread.stopping());
  EXPECT_EQ(thread.Access([](Sums& sums) { return sums.results; }), std::vector<int>{0});
}

TEST_F(RequestThreadTest, RequestIsNotServedAfterStop) {
  RequestThread<Sums> thread(wakeup_);
  thread.Stop();
  thread.Ask([](Sums& sums) { sums.requests.push_back(1); });
  thread.Start([&] {
    const bool asked = thread.Await(HasRequest);
    thread.Post([&](Sums& sums) { sums.results.push_back(asked ? 1 : 0); });
  });
  ASSERT_TRUE(WaitForResult());
  EXPECT_EQ(thread.Access([](Sums& sums) { return sums.results; }), std::vector<int>{0});
}

TEST_F(RequestThreadTest, WaitEndsAtItsLimit) {
  RequestThread<Sums> thread(wakeup_);
  thread.Start([&] {
    const bool short_wait = thread.Await(HasRequest, milliseconds(1));
    thread.Post([&](Sums& sums) { sums.results.push_back(short_wait ? 1 : 0); });
    const bool long_wait = thread.Await(HasRequest, minutes(10));
    thread.Post([&](Sums& sums) { sums.results.push_back(long_wait ? 1 : 0); });
  });
  ASSERT_TRUE(WaitForResult());
  eventfd_t count = 0;
  ASSERT_EQ(::eventfd_read(wakeup_, &count), 0);
  thread.Ask([](Sums& sums) { sums.requests.push_back(1); });
  ASSERT_TRUE(WaitForResult());
  EXPECT_EQ(thread.Access([](Sums& sums) { return sums.results; }), (std::vector<int>{0, 1}));
}

TEST_F(RequestThreadTest, DestructorWaitsForTheThread) {
  std::atomic<bool> ended = false;
  {
    RequestThread<Sums> thread(wakeup_);
    thread.Start([&] {
      (void)thread.Await(HasRequest);
      ended = true;
    });
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace walrelay
