// Which topics share a request, and what becomes of its answer. The requests are recorded, not
// sent.

#include "sinks/kafka/topics/topic_creator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class TopicCreatorTest : public ::testing::Test {
 protected:
  void Request(const std::vector<std::string>& topics) {
    for (const std::string& topic : topics) {
      creator_.Request(topic);
    }
    Turn();
  }
  void Turn(Micros later = Micros(0)) {
    now_ += later;
    creator_.SendIfDue(now_);
  }
  // Answers the request in flight: all its topics were created.
  void Answer() {
    std::vector<TopicAnswer> answers;
    for (const std::string& topic : sent_.back()) {
      answers.push_back({.topic = topic, .status = absl::OkStatus(), .created = true});
    }
    creator_.OnAnswer(std::move(answers), now_);
    Turn();
  }
  void Answer(absl::StatusOr<std::vector<TopicAnswer>> answer) {
    creator_.OnAnswer(std::move(answer), now_);
    Turn();
  }
  std::vector<std::string> Done() {
    std::vector<std::string> names;
    for (const TopicAnswer& each : creator_.DrainResults()) {
      EXPECT_THAT(each.status, IsOk());
      names.push_back(each.topic);
    }
    return names;
  }

  const absl::Status unreachable_ = Error(ErrorCode::kKafkaUnreachable, "timed out");
  std::vector<std::vector<std::string>> sent_;
  MonoTime now_{1000s};
  TopicCreator creator_{[this](std::span<const std::string> topics) {
                          sent_.emplace_back(topics.begin(), topics.end());
                        },
                        /*seed=*/1};
};

TEST_F(TopicCreatorTest, TopicsThatWaitTogetherShareARequest) {
  Request({"a", "b", "c"});
  EXPECT_THAT(sent_, ElementsAre(ElementsAre("a", "b", "c")));
  EXPECT_THAT(Done(), IsEmpty());
  Answer();
  EXPECT_THAT(Done(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(sent_, SizeIs(1));
}

TEST_F(TopicCreatorTest, TopicsThatArriveDuringARequestShareTheNext) {
  Request({"a"});
  Request({"b"});
  Request({"c"});
  EXPECT_THAT(sent_, ElementsAre(ElementsAre("a")));
  Answer();
  EXPECT_THAT(sent_, ElementsAre(ElementsAre("a"), ElementsAre("b", "c")));
}

TEST_F(TopicCreatorTest, RequestHasALimitedNumberOfTopics) {
  std::vector<std::string> many;
  for (size_t i = 0; i <= TopicCreator::kMaxTopics; ++i) {
    many.push_back("t" + std::to_string(i));
  }
  Request(many);
  EXPECT_THAT(sent_, ElementsAre(SizeIs(TopicCreator::kMaxTopics)));
  Answer();
  EXPECT_THAT(sent_.back(), ElementsAre(many.back()));
}

TEST_F(TopicCreatorTest, TopicOfAnotherInstanceCountsAsCreated) {
  Request({"a"});
  Answer({{{.topic = "a", .status = absl::OkStatus(), .created = false}}});
  EXPECT_THAT(Done(), ElementsAre("a"));
}

TEST_F(TopicCreatorTest, RefusalConcernsOneTopicAndIsNotRetried) {
  Request({"a", "b"});
  Answer({{{.topic = "a", .status = Error(ErrorCode::kTopicDenied, "a")},
           {.topic = "b", .status = absl::OkStatus(), .created = true}}});
  const std::vector<TopicAnswer> results = creator_.DrainResults();
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_THAT(results[0].status, HasError(ErrorCode::kTopicDenied));
  EXPECT_THAT(results[1].status, IsOk());
  Turn(1min);
  EXPECT_THAT(sent_, SizeIs(1));
}

TEST_F(TopicCreatorTest, TransientErrorOfATopicIsRetriedAfterAPause) {
  Request({"a", "b"});
  Answer({{{.topic = "a", .status = unreachable_},
           {.topic = "b", .status = absl::OkStatus(), .created = true}}});
  EXPECT_THAT(Done(), ElementsAre("b"));
  EXPECT_THAT(sent_, SizeIs(1));
  Turn(100ms);
  EXPECT_THAT(sent_, ElementsAre(ElementsAre("a", "b"), ElementsAre("a")));
  Answer();
  EXPECT_THAT(Done(), ElementsAre("a"));
}

TEST_F(TopicCreatorTest, RequestThatFailsIsRetriedWithGrowingPauses) {
  Request({"a", "b"});
  Micros waited(0);
  for (int attempt = 1; attempt <= 10; ++attempt) {
    Answer(unreachable_);
    const MonoTime failed = now_;
    while (sent_.size() == static_cast<size_t>(attempt)) {
      Turn(10ms);
      ASSERT_LE(now_ - failed, 11s);
    }
    waited = now_ - failed;
    EXPECT_THAT(sent_.back(), ElementsAre("a", "b"));
  }
  EXPECT_GE(waited, 5s);
  Answer();
  EXPECT_THAT(Done(), ElementsAre("a", "b"));
  Request({"c"});
  Answer(unreachable_);
  Turn(100ms);  // progress: the pauses begin again
  EXPECT_THAT(sent_.back(), ElementsAre("c"));
}

TEST_F(TopicCreatorTest, TopicThatTheAnswerOmitsIsRequestedAgain) {
  Request({"a", "b"});
  Answer({{{.topic = "b", .status = absl::OkStatus(), .created = true},
           {.topic = "never requested", .status = absl::OkStatus()}}});
  EXPECT_THAT(Done(), ElementsAre("b"));
  Turn(100ms);
  EXPECT_THAT(sent_.back(), ElementsAre("a"));
}

}  // namespace
}  // namespace walrelay
