#include "sinks/kafka/client/timer_slack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fakes/kafka_fixture.h"

namespace walrelay {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Matches;

class TimerSlackTest : public testing::ProducerFixture {};

std::string LineOf(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// The names of this process's threads that have the slack.
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

TEST_F(TimerSlackTest, OnlyThreadsOfAClientThatNeedsItHaveIt) {
  EXPECT_THAT(ThreadsWithSlack(), IsEmpty());
  const int before = prctl(PR_GET_TIMERSLACK);
  Start();
  if (LibrdkafkaVersionNumber() < 0x020400ff) {
    // A thread gets its name after it has started.
    EXPECT_TRUE(PollUntil([] { return Matches(Contains("rdk:main"))(ThreadsWithSlack()); }));
  } else {
    EXPECT_THAT(ThreadsWithSlack(), IsEmpty());
  }
  EXPECT_EQ(prctl(PR_GET_TIMERSLACK), before);
}

}  // namespace
}  // namespace walrelay
