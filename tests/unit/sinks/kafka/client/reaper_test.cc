// The reaper: the owner of an object does not wait for its destructor.

#include "sinks/kafka/client/reaper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace walrelay {
namespace {

constexpr std::chrono::seconds kReapTimeout{30};

// An object whose destructor waits for `end`.
class Slow {
 public:
  Slow(std::shared_future<void> end, std::atomic<int>& ended)
      : end_(std::move(end)), ended_(ended) {}
  ~Slow() {
    end_.wait();
    ++ended_;
  }

 private:
  const std::shared_future<void> end_;
  std::atomic<int>& ended_;
};

class ReaperTest : public ::testing::Test {
 protected:
  std::unique_ptr<Slow> NewSlow() { return std::make_unique<Slow>(end_, ended_); }

  std::promise<void> may_end_;
  std::shared_future<void> end_ = may_end_.get_future().share();
  std::atomic<int> ended_{0};
  Reaper reaper_;
};

TEST_F(ReaperTest, DestroyReturnsBeforeTheDestructorEnds) {
  for (int i = 0; i < Reaper::kMax; ++i) {
    reaper_.Destroy(NewSlow());
  }
  EXPECT_EQ(ended_, 0);
  EXPECT_FALSE(reaper_.Wait(Micros(1000)));
  may_end_.set_value();
  EXPECT_TRUE(reaper_.Wait(kReapTimeout));
  EXPECT_EQ(ended_, Reaper::kMax);
}

TEST_F(ReaperTest, HasRoomUntilItIsFull) {
  for (int i = 0; i < Reaper::kMax; ++i) {
    EXPECT_TRUE(reaper_.HasRoom());
    reaper_.Destroy(NewSlow());
  }
  EXPECT_FALSE(reaper_.HasRoom());
  may_end_.set_value();
  EXPECT_TRUE(reaper_.Wait(kReapTimeout));
  EXPECT_TRUE(reaper_.HasRoom());
}

TEST_F(ReaperTest, ConcurrentDestructionsAreBounded) {
  for (int i = 0; i < Reaper::kMax; ++i) {
    reaper_.Destroy(NewSlow());
  }
  std::future<void> one_more =
      std::async(std::launch::async, [this] { reaper_.Destroy(NewSlow()); });
  EXPECT_EQ(one_more.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  may_end_.set_value();
  EXPECT_EQ(one_more.wait_for(kReapTimeout), std::future_status::ready);
  EXPECT_TRUE(reaper_.Wait(kReapTimeout));
  EXPECT_EQ(ended_, Reaper::kMax + 1);
}

TEST_F(ReaperTest, ThreadsMayOutliveTheReaper) {
  std::promise<void> end;
  std::promise<void> ended;
  struct Object {
    std::shared_future<void> end;
    std::promise<void>& ended;
    ~Object() {
      end.wait();
      ended.set_value();
    }
  };
  {
    Reaper reaper;
    reaper.Destroy(std::unique_ptr<Object>(new Object{end.get_future().share(), ended}));
  }
  end.set_value();
  EXPECT_EQ(ended.get_future().wait_for(kReapTimeout), std::future_status::ready);
}

}  // namespace
}  // namespace walrelay
