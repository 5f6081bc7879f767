// TopicPrimer: asks for a topic's metadata before the first record goes to it.
//
// librdkafka before 2.10.1 lets the first record of a new topic wait for a timer of one second; one
// that asks first loses a round trip. It also tells apart what a producer only finds out too late:
// that the topic does not exist, or is denied. The question blocks, so it is asked on a thread of
// its own.
//
// Threads: Ask() and TakeAnswers() from one thread; the answers come from the primer's.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace walrelay {

class TopicPrimer {
 public:
  struct Answer {
    std::string topic;
    absl::Status status;  // OK: the topic is there. WR-3005, WR-4004, WR-4005
    int32_t partitions = 0;
  };

  // `client` must outlive the primer. `wakeup_fd`, an eventfd, is written to when an answer has
  // come.
  TopicPrimer(rd_kafka_t* client, int wakeup_fd);
  // Waits for the question under way: half a second at most, four if brokers are slow to answer.
  ~TopicPrimer();

  TopicPrimer(const TopicPrimer&) = delete;
  TopicPrimer& operator=(const TopicPrimer&) = delete;

  // A broker that does not answer is asked again until it does.
  void Ask(const std::string& topic);
  std::vector<Answer> TakeAnswers();

 private:
  struct Question {
    std::string topic;
    // A topic that does not exist may be one that the broker is making at this moment.
    std::chrono::steady_clock::time_point give_up;
  };

  void Run();
  // nullopt: nothing is known yet.
  std::optional<Answer> LookUp(const Question& question, int patience_millis) const;

  rd_kafka_t* const client_;
  const int wakeup_fd_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;           // guarded by mutex_
  std::deque<Question> questions_;  // guarded by mutex_
  std::vector<Answer> answers_;     // guarded by mutex_
  std::thread thread_;              // last: starts when all else is there
};

}  // namespace walrelay
