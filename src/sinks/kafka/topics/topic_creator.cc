#include "sinks/kafka/topics/topic_creator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr Micros kFirstCreationRetry = std::chrono::milliseconds(100);
constexpr Micros kLongestCreationRetry = std::chrono::seconds(10);

}  // namespace

TopicCreator::TopicCreator(Send send, uint64_t seed)
    : send_(std::move(send)), backoff_(kFirstCreationRetry, kLongestCreationRetry, seed) {}

void TopicCreator::SendIfDue(MonoTime now) {
  if (waiting_.empty() || !in_flight_.empty() || now < retry_at_) {
    return;
  }
  const auto end =
      waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kMaxTopics));
  in_flight_.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  send_(in_flight_);
}

// A topic that the answer does not mention is requested again, too.
void TopicCreator::OnAnswer(absl::StatusOr<std::vector<TopicAnswer>> answer, MonoTime now) {
  WR_CHECK(!in_flight_.empty(), "an answer belongs to the request in flight");
  std::vector<std::string> again = std::exchange(in_flight_, {});
  absl::Status reason = answer.status();
  for (TopicAnswer& each : answer.ok() ? *answer : std::vector<TopicAnswer>()) {
    if (HasCode(each.status, ErrorCode::kKafkaUnreachable)) {
      reason = each.status;
    } else if (std::erase(again, each.topic) > 0) {
      results_.push_back(std::move(each));
    }
  }
  Retry(std::move(again), reason, now);
}

void TopicCreator::Retry(std::vector<std::string> topics, const absl::Status& reason,
                         MonoTime now) {
  if (topics.empty()) {
    backoff_.Reset();
    return;
  }
  retry_at_ = now + backoff_.Next();
  LogWarning("topic_creation_failed",
             reason.ok() ? "the brokers did not answer for all topics" : MessageOf(reason),
             {{"topics", topics.size()}, {"topic", topics.front()}});
  waiting_.insert(waiting_.end(), std::make_move_iterator(topics.begin()),
                  std::make_move_iterator(topics.end()));
}

std::vector<TopicAnswer> TopicCreator::DrainResults() {
  return std::exchange(results_, {});
}

}  // namespace walrelay
