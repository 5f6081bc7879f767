// DeletionWarning: logs a topic whose first record Kafka deletes at once, because the record is
// older than the topic keeps records.
//
// It asks for the settings of topics whose first record is old; the answer is an event of the
// producer's queue. Records of a relay that keeps up are never old, and nothing is asked.
// Threads: the producer's. Does not block.
#pragma once

#include <librdkafka/rdkafka.h>

#include <map>
#include <string>

#include "walrelay/clock.h"
#include "walrelay/record.h"

namespace walrelay {

class DeletionWarning {
 public:
  // `queue` belongs to `client`, and receives the answers. Both must outlive this object.
  DeletionWarning(rd_kafka_t* client, rd_kafka_queue_t* queue) : client_(client), queue_(queue) {}

  // The first record of this producer in a topic was accepted.
  void OnFirstRecord(const Record& record, const std::string& topic, WallTime now);

  // RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT. `event` stays the caller's.
  void OnSettings(rd_kafka_event_t* event) const;

 private:
  rd_kafka_t* const client_;
  rd_kafka_queue_t* const queue_;
  // The ages of the first records of topics, which are compared with the topics' settings.
  std::map<std::string, Micros> first_ages_;
};

}  // namespace walrelay
