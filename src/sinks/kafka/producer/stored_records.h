// StoredRecords: which records the topics have already, so that a producer does not send them
// again.
//
// The last records of each partition show it: they have the positions of their events. They are
// read once for each topic, before its first record with a position, on the thread of a TailReader.
// Threads: the producer's. Does not block.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "sinks/kafka/producer/topic_table.h"
#include "sinks/kafka/topics/tail_reader.h"
#include "walrelay/record.h"
#include "walrelay/record_position.h"

namespace walrelay {

struct ProducerClient;

class StoredRecords {
 public:
  // `client` must outlive this object, and owns the reader.
  explicit StoredRecords(ProducerClient& client) : client_(&client) {}

  // Records with positions of this history are compared from now on. Only the first call counts: an
  // event of another history is never skipped. Without `consumer_conf` nothing is read, and no
  // record counts as stored.
  void Begin(const WalHistory& history, const TailReader::ConfFactory& consumer_conf);
  // False: records get no positions.
  bool begun() const { return history_.has_value(); }

  // Whether the ends of the topic's partitions are still being read. Begins with it for the first
  // record.
  bool Awaits(TopicTable::Topic& topic);
  // Applies the results of the reader to their topics.
  void ApplyTails();

  // Whether the partition has the record. Errors: those of StoredEvents::Contains().
  absl::StatusOr<bool> Contains(const Record& record, const TopicTable::Topic& topic,
                                int32_t partition) const;

 private:
  ProducerClient* const client_;
  std::optional<WalHistory> history_;
};

}  // namespace walrelay
