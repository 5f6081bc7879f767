#include "sinks/kafka/producer/topic_metadata_fetcher.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "sinks/kafka/client/delivery_error.h"
#include "sinks/kafka/client/handles.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// An answer that arrives after the timeout is lost, so a slow network needs a long timeout. But the
// destructor waits as well: the timeout grows only when the short one was not enough.
constexpr int kFirstTimeoutMillis = 500;
constexpr int kLongestTimeoutMillis = 4'000;
// While a record waits for its topic: the first pause, which doubles until something is answered.
constexpr std::chrono::milliseconds kPollInterval{10};
constexpr std::chrono::milliseconds kLongestPollInterval{40};
// While no broker answers and only the state of the brokers is of interest.
constexpr std::chrono::milliseconds kBetweenProbes{500};
// Brokers answer "unknown" while they create a topic on demand.
constexpr std::chrono::seconds kOnDemandGrace{2};
constexpr std::chrono::seconds kCreationGrace{30};

// Indexed by partition number. The answer lists partitions in any order, and a broker's answer is
// not trusted to contain each once.
std::vector<int32_t> LeadersOf(const rd_kafka_metadata_topic& topic) {
  std::vector<int32_t> leaders(static_cast<size_t>(topic.partition_cnt), -1);
  for (int i = 0; i < topic.partition_cnt; ++i) {
    const rd_kafka_metadata_partition& partition = topic.partitions[i];
    if (partition.id >= 0 && partition.id < topic.partition_cnt) {
      leaders[static_cast<size_t>(partition.id)] = partition.leader;
    }
  }
  return leaders;
}

std::chrono::seconds GraceOf(TopicMetadataFetcher::Await await) {
  switch (await) {
    case TopicMetadataFetcher::Await::kNothing:
      break;
    case TopicMetadataFetcher::Await::kOnDemand:
      return kOnDemandGrace;
    case TopicMetadataFetcher::Await::kCreation:
      return kCreationGrace;
  }
  return std::chrono::seconds(0);
}

bool HaveLeaders(const std::vector<int32_t>& partitions) {
  return !partitions.empty() && std::all_of(partitions.begin(), partitions.end(),
                                            [](int32_t leader) { return leader >= 0; });
}

}  // namespace

TopicMetadataFetcher::TopicMetadataFetcher(rd_kafka_t* client, int wakeup_fd)
    : client_(client), pause_(kPollInterval), thread_(wakeup_fd) {
  thread_.Start([this] { Run(); });
}

void TopicMetadataFetcher::Request(const std::string& topic, Await await) {
  thread_.Ask([&](Shared& shared) {
    shared.questions.push_back({.topic = topic,
                                .give_up = std::chrono::steady_clock::now() + GraceOf(await),
                                .leaders = await == Await::kCreation});
  });
}

size_t TopicMetadataFetcher::waiting() {
  return thread_.Access([](Shared& shared) { return shared.questions.size(); });
}

void TopicMetadataFetcher::Refresh() {
  thread_.Ask([](Shared& shared) { shared.refresh = true; });
}

void TopicMetadataFetcher::Probe() {
  thread_.Ask([](Shared& shared) { ++shared.probes; });
}

std::vector<TopicMetadataFetcher::Result> TopicMetadataFetcher::DrainResults() {
  return thread_.Access([](Shared& shared) { return std::exchange(shared.results, {}); });
}

bool TopicMetadataFetcher::Answered() {
  return thread_.Access([](Shared& shared) { return shared.answered == shared.probes; });
}

// One request at a time is enough: it covers every topic that waits.
void TopicMetadataFetcher::Run() {
  int timeout_millis = kFirstTimeoutMillis;
  while (thread_.Await(HasWork)) {
    const uint64_t probes = thread_.Access([](const Shared& shared) { return shared.probes; });
    const bool topic_waits =
        thread_.Access([](const Shared& shared) { return !shared.questions.empty(); });
    if (topic_waits ? AskForTopics(timeout_millis) : AskForAll(timeout_millis)) {
      timeout_millis = kFirstTimeoutMillis;
      // A probe counts as answered only by a request that began after it.
      thread_.Access([&](Shared& shared) { shared.answered = probes; });
    } else {
      timeout_millis = std::min(timeout_millis * 2, kLongestTimeoutMillis);
      // A topic requested meanwhile need not wait.
      (void)thread_.Await(
          [&](const Shared& shared) { return !topic_waits && !shared.questions.empty(); },
          topic_waits ? kPollInterval : kBetweenProbes);
    }
  }
}

bool TopicMetadataFetcher::AskForAll(int timeout_millis) {
  thread_.Access([](Shared& shared) { shared.refresh = false; });
  const KafkaMetadata found = Fetch(nullptr, timeout_millis);
  if (found == nullptr) {
    thread_.Access([](Shared& shared) { shared.refresh = true; });
    return false;
  }
  thread_.Post([&](Shared& shared) {
    for (int i = 0; i < found->topic_cnt; ++i) {
      const rd_kafka_metadata_topic& topic = found->topics[i];
      if (topic.err != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) {
        const bool there = topic.err == RD_KAFKA_RESP_ERR_NO_ERROR;
        shared.results.push_back({topic.topic,
                                  there ? absl::OkStatus() : TopicError(topic.err, topic.topic),
                                  LeadersOf(topic), /*asked=*/false});
      }
    }
  });
  return true;
}

// A single topic is asked for by a handle without configuration: the producer has opened the topic
// before, and its handle decides. Several share a request for all topics that the client knows.
bool TopicMetadataFetcher::AskForTopics(int timeout_millis) {
  // Others may be added meanwhile, behind these.
  const auto [asked, first] = thread_.Access([](const Shared& shared) {
    WR_CHECK(!shared.questions.empty(), "a topic waits");
    return std::pair(shared.questions.size(), shared.questions.front().topic);
  });
  const KafkaTopic single(asked == 1 ? rd_kafka_topic_new(client_, first.c_str(), nullptr)
                                     : nullptr);
  const KafkaMetadata found = Fetch(single.get(), timeout_millis);
  if (found == nullptr) {
    return false;
  }
  const auto [answered, waiting] = thread_.Access([&, asked = asked](Shared& shared) {
    const size_t count = TakeAnswers(*found, asked, shared);
    return std::pair(count, shared.questions.size());
  });
  if (answered > 0) {
    thread_.Wake();
    pause_ = kPollInterval;
  }
  // The remaining topics wait for their creation; a topic requested in the meantime need not wait.
  if (answered < asked) {
    (void)thread_.Await(
        [waiting = waiting](const Shared& shared) { return shared.questions.size() > waiting; },
        std::exchange(pause_, std::min(2 * pause_, kLongestPollInterval)));
  }
  return true;
}

size_t TopicMetadataFetcher::TakeAnswers(const struct rd_kafka_metadata& found, size_t asked,
                                         Shared& shared) {
  std::map<std::string_view, const rd_kafka_metadata_topic*> topics;
  for (int i = 0; i < found.topic_cnt; ++i) {
    topics[found.topics[i].topic] = &found.topics[i];
  }
  const size_t before = shared.results.size();
  const auto end = shared.questions.begin() + static_cast<std::ptrdiff_t>(asked);
  const auto open = std::remove_if(shared.questions.begin(), end, [&](const Question& question) {
    const auto topic = topics.find(question.topic);
    std::optional<Result> answer =
        topic != topics.end() ? AnswerTo(question, *topic->second) : std::nullopt;
    if (answer) {
      shared.results.push_back(*std::move(answer));
    }
    return answer.has_value();
  });
  shared.questions.erase(open, end);
  return shared.results.size() - before;
}

// nullopt: nothing is known yet.
std::optional<TopicMetadataFetcher::Result> TopicMetadataFetcher::AnswerTo(
    const Question& question, const rd_kafka_metadata_topic& topic) {
  const bool patient = std::chrono::steady_clock::now() < question.give_up;
  if (topic.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    std::vector<int32_t> leaders = LeadersOf(topic);
    return question.leaders && patient && !HaveLeaders(leaders)
               ? std::nullopt
               : std::optional(Result{question.topic, absl::OkStatus(), std::move(leaders)});
  }
  const bool perhaps_being_created =
      topic.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART && patient;
  if (topic.err == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE || perhaps_being_created) {
    return std::nullopt;
  }
  return Result{question.topic, TopicError(topic.err, question.topic), {}};
}

// (Before the client knows any topic, a request for all of them covers those of the cluster, which
// librdkafka 2.0 cannot avoid.)
KafkaMetadata TopicMetadataFetcher::Fetch(rd_kafka_topic_t* topic, int timeout_millis) const {
  const struct rd_kafka_metadata* found = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(client_, /*all_topics=*/0, topic, &found, timeout_millis);
  return KafkaMetadata(error == RD_KAFKA_RESP_ERR_NO_ERROR ? found : nullptr);
}

}  // namespace walrelay
