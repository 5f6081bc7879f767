#include "kafka/topic_primer.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "kafka/delivery_error.h"
#include "kafka/handles.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// An answer that comes later than we wait for it is lost, so a long way needs a long patience. But
// whoever destroys the producer waits as well: long only when short was in vain.
constexpr int kFirstPatienceMillis = 500;
constexpr int kLongestPatienceMillis = 4'000;
constexpr std::chrono::milliseconds kBetweenLooks{10};
// Brokers answer "unknown" while they create a topic on demand.
constexpr std::chrono::seconds kCreationGrace{2};

}  // namespace

TopicPrimer::TopicPrimer(rd_kafka_t* client, int wakeup_fd)
    : client_(client), wakeup_fd_(wakeup_fd), thread_([this] { Run(); }) {}

TopicPrimer::~TopicPrimer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void TopicPrimer::Ask(const std::string& topic) {
  {
    const std::lock_guard lock(mutex_);
    questions_.push_back({topic, std::chrono::steady_clock::now() + kCreationGrace});
  }
  changed_.notify_one();
}

std::vector<TopicPrimer::Answer> TopicPrimer::TakeAnswers() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

void TopicPrimer::Run() {
  std::unique_lock lock(mutex_);
  int patience_millis = kFirstPatienceMillis;
  while (!stopping_) {
    if (questions_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Question question = questions_.front();
    lock.unlock();
    std::optional<Answer> answer = LookUp(question, patience_millis);
    lock.lock();
    if (answer) {
      patience_millis = kFirstPatienceMillis;
      questions_.pop_front();
      answers_.push_back(*std::move(answer));
      eventfd_write(wakeup_fd_, 1);
    } else if (!stopping_) {
      patience_millis = std::min(patience_millis * 2, kLongestPatienceMillis);
      changed_.wait_for(lock, kBetweenLooks);
    }
  }
}

std::optional<TopicPrimer::Answer> TopicPrimer::LookUp(const Question& question,
                                                       int patience_millis) const {
  const KafkaTopic topic(rd_kafka_topic_new(client_, question.topic.c_str(), nullptr));
  const struct rd_kafka_metadata* found = nullptr;
  const rd_kafka_resp_err_t asked =
      rd_kafka_metadata(client_, /*all_topics=*/0, topic.get(), &found, patience_millis);
  if (asked != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return std::nullopt;
  }
  const KafkaMetadata metadata(found);
  const rd_kafka_resp_err_t error =
      metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Answer{question.topic, absl::OkStatus(), metadata->topics[0].partition_cnt};
  }
  const bool perhaps_being_made = error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART &&
                                  std::chrono::steady_clock::now() < question.give_up;
  if (error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE || perhaps_being_made) {
    return std::nullopt;
  }
  return Answer{question.topic, TopicError(error, question.topic)};
}

}  // namespace walrelay
