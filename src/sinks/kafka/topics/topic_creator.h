// TopicCreator: creates missing topics, with one request at a time for all topics that wait.
//
// A request takes the controller a few milliseconds, whether it names one topic or many: topics
// that become known while one is in flight share the next. A topic that another instance has
// created in the meantime counts as created. Transient errors are retried with growing pauses,
// without end; a topic that the brokers refuse is reported, and requested again when its next
// record asks for it.
//
// It holds the names of topics that records wait for, so the number of topics (route.max_topics)
// bounds its memory.
//
// Single-threaded; never blocks: the answer is passed in as an event of the client's queue.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/backoff.h"
#include "walrelay/clock.h"

namespace walrelay {

// The answer to a request, for one of its topics.
struct TopicAnswer {
  std::string topic;
  // OK: the topic exists. WR-3005, WR-4005 and WR-4014: the brokers refuse to create it. WR-4001:
  // another request may succeed.
  absl::Status status;
  bool created = false;  // by this request; false: it existed
};

class TopicCreator {
 public:
  // Topics in one request: its size, and the controller's work on it, stay small.
  static constexpr size_t kMaxTopics = 500;

  // Sends one request for these topics; OnAnswer() follows. The views need not outlive the call.
  using Send = std::function<void(std::span<const std::string>)>;

  // `seed`: of the pauses between retries.
  TopicCreator(Send send, uint64_t seed);

  // Creates the topic. REQUIRES: it was not requested since its last result.
  void Request(std::string topic) { waiting_.push_back(std::move(topic)); }
  // Sends a request for the topics that wait, unless one is in flight or a retry is not due yet.
  void SendIfDue(MonoTime now);
  // The request in flight was answered, or failed as a whole: then every topic is requested again.
  // REQUIRES: a request is in flight.
  void OnAnswer(absl::StatusOr<std::vector<TopicAnswer>> answer, MonoTime now);

  // The topics that are done since the last call; never WR-4001.
  std::vector<TopicAnswer> DrainResults();

 private:
  void Retry(std::vector<std::string> topics, const absl::Status& reason, MonoTime now);

  const Send send_;
  std::vector<std::string> waiting_;
  std::vector<std::string> in_flight_;  // the topics of the request
  std::vector<TopicAnswer> results_;
  MonoTime retry_at_;  // no request before
  Backoff backoff_;
};

}  // namespace walrelay
