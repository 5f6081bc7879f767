// TopicMetadataFetcher: fetches topics' metadata from the brokers.
//
// Before the first record of a topic: in librdkafka before 2.10.1 the first record of a new topic
// waits for a one-second timer; fetching the metadata first costs only a round trip. It also
// reveals problems that a producer would find too late: the topic does not exist, or access is
// denied. Later, periodically, for all topics in use at once: their partition counts and leaders.
// And while no broker is reachable: whether one answers again.
//
// Each request blocks, so the fetcher sends them from its own thread, one at a time.
// Topics that wait share a request, which names every topic that the client knows.
//
// If the brokers create topics on demand (auto.create.topics.enable), requesting a topic's metadata
// creates it, as with every producer.
//
// Threads: call all methods from one thread; the answers come from its thread.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/request_thread.h"
#include "sinks/kafka/client/handles.h"

namespace walrelay {

class TopicMetadataFetcher {
 public:
  struct Result {
    std::string topic;
    absl::Status status;           // OK: the topic exists. WR-3005, WR-4004, WR-4005
    std::vector<int32_t> leaders;  // of each partition, -1 for none at the moment
    // Answers Request(), not Refresh(): brokers that did not know the topic were asked repeatedly
    // for a while.
    bool asked = true;
  };

  // `client` must outlive the fetcher. `wakeup_fd`, an eventfd, is signalled when an
  // answer has arrived.
  TopicMetadataFetcher(rd_kafka_t* client, int wakeup_fd);

  TopicMetadataFetcher(const TopicMetadataFetcher&) = delete;
  TopicMetadataFetcher& operator=(const TopicMetadataFetcher&) = delete;

  // Sends no further request; does not wait for the current one. The destructor does: at most half
  // a second, or four seconds if brokers answer slowly.
  void Stop() { thread_.Stop(); }

  // How long "unknown topic" counts as no answer.
  enum class Await {
    kNothing,   // not at all
    kOnDemand,  // two seconds: brokers answer that while they create a topic on demand
    // Half a minute, and as long each partition is awaited to have a leader: the topic was just
    // created, and not every broker knows it.
    kCreation,
  };
  // Requests a topic's metadata, repeatedly until a broker answers. After Stop() no answer arrives
  // any more.
  void Request(const std::string& topic, Await await);
  // Topics that were requested and have no answer.
  size_t waiting();
  // Requests the metadata of all topics in use again.
  // Calls before the request is sent are merged into one.
  void Refresh();
  // Sends requests until a broker answers one that was sent after this call.
  void Probe();

  // The results that have arrived since the last call, oldest first; empty if none have. Does not
  // wait for a request.
  std::vector<Result> DrainResults();
  // Whether a broker has answered since the last Probe(); true when there was none.
  bool Answered();

 private:
  // A topic whose first record waits.
  struct Question {
    std::string topic;
    std::chrono::steady_clock::time_point give_up;  // awaiting its creation
    bool leaders = false;                           // of all partitions are awaited, too
  };

  struct Shared {
    std::deque<Question> questions;
    // Refresh() was called, and no broker has answered since.
    bool refresh = false;
    uint64_t probes = 0;    // calls of Probe()
    uint64_t answered = 0;  // number of those that a broker's answer followed
    std::vector<Result> results;
  };

  // The body of the thread.
  void Run();
  static bool HasWork(const Shared& shared) {
    return !shared.questions.empty() || shared.refresh || shared.answered < shared.probes;
  }
  // Each sends a request, for the topics that wait or for all topics in use. False: no broker has
  // answered. REQUIRES for AskForTopics(): a topic waits.
  bool AskForTopics(int timeout_millis);
  bool AskForAll(int timeout_millis);
  // Moves the answers to the first `asked` questions to the results, and returns their number.
  static size_t TakeAnswers(const struct rd_kafka_metadata& found, size_t asked, Shared& shared);

  // nullopt: the topic may be in the process of being created.
  static std::optional<Result> AnswerTo(const Question& question,
                                        const rd_kafka_metadata_topic& topic);
  // Requests the metadata of `topic`, or if that is nullptr of all topics that the client knows.
  // Returns nullptr if no broker answers.
  KafkaMetadata Fetch(rd_kafka_topic_t* topic, int timeout_millis) const;

  rd_kafka_t* const client_;
  // Before the next request for topics that were not answered; only the thread uses it.
  std::chrono::milliseconds pause_;
  RequestThread<Shared> thread_;
};

}  // namespace walrelay
