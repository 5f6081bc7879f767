// TopicPrimer: asks brokers for topics' metadata.
//
// Before the first record goes to a topic: librdkafka before 2.10.1 lets the first record of a new
// topic wait for a timer of one second; one that asks first loses a round trip. It also tells what
// a producer only finds out too late: that the topic does not exist, or is denied.
// Then now and then, of all topics in use at once: how many partitions they have, and who leads
// them. And while no broker can be reached: whether one answers again.
//
// Each question blocks, so they are asked on a thread of the primer's own, one at a time, topics
// first.
//
// Where the brokers create topics on demand (auto.create.topics.enable), asking for a topic creates
// it, as it does for every producer.
//
// Threads: all methods from one thread; the answers come from the primer's.
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
    absl::Status status;           // OK: the topic is there. WR-3005, WR-4004, WR-4005
    std::vector<int32_t> leaders;  // of each partition, -1 for none at the moment
    // To Ask(), as opposed to Refresh(): brokers that do not know the topic were asked for a while.
    bool asked = true;
  };

  // `client` must outlive the primer. `wakeup_fd`, an eventfd, is written to when an answer has
  // come.
  TopicPrimer(rd_kafka_t* client, int wakeup_fd);
  // Waits for the question under way: half a second at most, four if brokers are slow to answer.
  ~TopicPrimer();

  TopicPrimer(const TopicPrimer&) = delete;
  TopicPrimer& operator=(const TopicPrimer&) = delete;

  // Asks no further question; does not wait for the one under way.
  void Stop();

  // A broker that does not answer is asked again until it does.
  void Ask(const std::string& topic);
  // Asks once more about all topics that were asked for.
  void Refresh();
  // Asks until a broker answers a question that was put after this call.
  void Probe();

  std::vector<Answer> TakeAnswers();
  // Whether a broker has answered since the last Probe(); true when there was none.
  bool Answered();

 private:
  struct Question {
    std::string topic;
    // A topic that does not exist may be one that the broker is creating at this moment.
    std::chrono::steady_clock::time_point give_up;
  };

  void Run();
  bool HasWork() const { return !questions_.empty() || refresh_ || answered_ < probes_; }
  // The next question. False: no broker has answered. REQUIRES: `lock` is held; it is released
  // while asking.
  bool AskNext(std::unique_lock<std::mutex>& lock, int patience_millis);

  // nullopt: nothing is known yet, `answered` tells whether a broker has said so.
  std::optional<Answer> LookUp(const Question& question, int patience_millis, bool& answered) const;
  // nullopt: no broker has answered.
  std::optional<std::vector<Answer>> LookUpAll(int patience_millis) const;

  rd_kafka_t* const client_;
  const int wakeup_fd_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  bool stopping_ = false;
  std::deque<Question> questions_;
  bool refresh_ = false;
  uint64_t probes_ = 0;    // calls of Probe()
  uint64_t answered_ = 0;  // those of them that a broker's answer came after
  std::vector<Answer> answers_;
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace walrelay
