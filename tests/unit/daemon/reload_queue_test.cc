#include "daemon/reload_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace walrelay {
namespace {

TEST(ReloadQueueTest, RequestIsAnsweredByTheMainThread) {
  std::atomic<int> woken = 0;
  ReloadQueue queue([&] { ++woken; });
  std::string answer;
  std::thread client([&] { answer = queue.Answer("reload"); });
  while (woken == 0) {
    std::this_thread::yield();
  }
  queue.Serve([] { return "reloaded\n"; });
  client.join();
  EXPECT_EQ(answer, "reloaded\n");
}

TEST(ReloadQueueTest, NothingIsReloadedWithoutARequest) {
  ReloadQueue queue([] {});
  queue.Serve([] {
    ADD_FAILURE() << "nothing was requested";
    return "";
  });
}

TEST(ReloadQueueTest, OneReloadAnswersAllRequestsBeforeIt) {
  std::atomic<int> woken = 0;
  ReloadQueue queue([&] { ++woken; });
  std::string answers[2];
  std::thread first([&] { answers[0] = queue.Answer("reload"); });
  std::thread second([&] { answers[1] = queue.Answer("reload"); });
  while (woken < 2) {
    std::this_thread::yield();
  }
  int reloads = 0;
  const auto reload = [&] {
    ++reloads;
    return "reloaded\n";
  };
  queue.Serve(reload);
  queue.Serve(reload);
  first.join();
  second.join();
  EXPECT_EQ(reloads, 1);
  EXPECT_EQ(answers[0], "reloaded\n");
  EXPECT_EQ(answers[1], "reloaded\n");
}

// The client waits for two seconds, and must get an answer by then.
TEST(ReloadQueueTest, MainThreadThatIsBusyIsNotWaitedFor) {
  ReloadQueue queue([] {});
  EXPECT_TRUE(queue.Answer("reload").starts_with("requested\n"));
}

TEST(ReloadQueueTest, UnknownRequestIsAnswered) {
  ReloadQueue queue([] { ADD_FAILURE() << "nothing to wake for"; });
  EXPECT_TRUE(queue.Answer("dance").starts_with("unknown\n"));
}

}  // namespace
}  // namespace walrelay
