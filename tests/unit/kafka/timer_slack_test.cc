#include "kafka/timer_slack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fakes/kafka_fixture.h"

namespace walrelay {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::IsEmpty;

class TimerSlackTest : public testing::ProducerFixture {};

std::string LineOf(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// The names of this process's threads that have the slack of a main thread.
std::vector<std::string> ThreadsWithSlack() {
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    // A thread's slack is in the folder of its process number, which /proc does not list.
    const auto folder = "/proc" / task.path().filename();
    if (LineOf(folder / "timerslack_ns") == "1000000") {
      names.push_back(LineOf(folder / "comm"));
    }
  }
  return names;
}

// After a delivery the client has threads that its main thread has created.
TEST_F(TimerSlackTest, OnlyTheMainThreadHasIt) {
  EXPECT_THAT(ThreadsWithSlack(), IsEmpty());
  CreateTopic("orders");
  Start();
  ProduceKeys({"a"});
  WaitForDeliveries(1);
  EXPECT_THAT(ThreadsWithSlack(), Contains("rdk:main"));
  EXPECT_THAT(ThreadsWithSlack(), Each("rdk:main"));
}

}  // namespace
}  // namespace walrelay
