// SimTails: reads the ends of topics for one producer, with pipeline.mode = "topics".
//
// Does what TailReader and KafkaProducer do, on simulated brokers: it queries the ends, reads the
// records before them, and then the replicas. What the records mean is decided by StoredEvents.
//
// It also judges what the producer sends: an event that a partition had when its end was read must
// not be sent again, unless there was a reason not to count it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "context.h"
#include "sim_kafka.h"
#include "stream/stored_events.h"
#include "walrelay/record_position.h"

namespace walrelay::sim {

class SimTails {
 public:
  // Runs the action after the delay, unless the producer ends before.
  using Later = std::function<void(Micros, std::function<void()>)>;

  // `first`: of the first producer of its process. `context` and `kafka` must outlive it.
  SimTails(Context& context, SimKafka& kafka, WalHistory history, bool first, Later later);

  const WalHistory& history() const { return history_; }
  // Whether the ends of the topic's partitions are being read. Begins with it at the first call.
  bool Awaits(const std::string& topic, int partitions);
  // The topic has another number of partitions than before.
  void Forget(const std::string& topic);
  absl::StatusOr<bool> Contains(const std::string& topic, int partition,
                                const RecordPosition& event) const;
  // The event is sent to the partition.
  void CheckSent(const std::string& topic, int partition, int event) const;

 private:
  enum class State { kUnread, kAsked, kSettled };
  struct End {
    int64_t begin = 0;  // of what is read
    int64_t end = 0;
    int epoch = 0;
    bool counts = true;  // there is no reason not to count what was read
    StoredEvents stored;
  };
  struct Topic {
    State state = State::kUnread;
    bool forgotten = false;  // while it was read
    MonoTime asked;
    int connection = 0;  // SimKafka::changes()
    std::vector<End> ends;
  };

  void Query(const std::string& name);
  void Read(const std::string& name);
  void CheckReplicas(const std::string& name);
  bool MustWait(const std::string& name, bool for_leaders, Micros limit) const;
  void Retry(const std::string& name, void (SimTails::*step)(const std::string&));
  void Settle(const std::string& name);
  void SettleUnread(const std::string& name, std::string_view reason);

  Context& context_;
  SimKafka& kafka_;
  const WalHistory history_;
  const bool first_;
  const Later later_;
  std::map<std::string, Topic, std::less<>> topics_;
};

}  // namespace walrelay::sim
