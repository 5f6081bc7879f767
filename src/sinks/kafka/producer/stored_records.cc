#include "sinks/kafka/producer/stored_records.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "base/log.h"
#include "sinks/kafka/producer/producer_client.h"
#include "walrelay/error.h"

namespace walrelay {

void StoredRecords::Begin(const WalHistory& history, const TailReader::ConfFactory& consumer_conf) {
  if (history_) {
    return;
  }
  history_ = history;
  if (consumer_conf) {
    client_->tails = std::make_unique<TailReader>(consumer_conf, history, client_->wakeup.get());
  }
}

bool StoredRecords::Awaits(TopicTable::Topic& topic) {
  if (client_->tails == nullptr || topic.tail == TopicTable::Topic::Tail::kSettled) {
    return false;
  }
  if (topic.partitions.count() == 0) {
    return false;  // the metadata has to be fetched again, see OnAbsentPartition()
  }
  if (topic.tail == TopicTable::Topic::Tail::kUnread) {
    topic.tail = TopicTable::Topic::Tail::kAsked;
    client_->tails->Request(topic.name, topic.partitions.count());
  }
  return true;
}

// A topic whose partitions have changed meanwhile no longer awaits the result.
void StoredRecords::ApplyTails() {
  if (client_->tails == nullptr) {
    return;
  }
  for (TailReader::Result& result : client_->tails->DrainResults()) {
    TopicTable::Topic& topic = client_->topics->Find(result.topic);
    if (topic.tail == TopicTable::Topic::Tail::kAsked) {
      topic.tail = TopicTable::Topic::Tail::kSettled;
      topic.stored = std::move(result.partitions);
    }
    if (!result.trouble.empty()) {
      LogWarning("tail_not_read", "events that the topic has already may be sent again",
                 {{"topic", result.topic}, {"reason", result.trouble}});
    }
  }
}

// Positions of another history are not comparable with those that were read. A record that is too
// large has never been sent: later ones do not show what became of it, so its error is returned
// again. Its size is an upper limit of that which librdkafka compares.
absl::StatusOr<bool> StoredRecords::Contains(const Record& record, const TopicTable::Topic& topic,
                                             int32_t partition) const {
  const auto index = static_cast<size_t>(partition);
  if (!record.position || !history_ || index >= topic.stored.size() ||
      record.position->history != history_->current() ||
      record.position->routing != history_->routing) {
    return false;
  }
  WR_ASSIGN_OR_RETURN(const bool stored, topic.stored[index].Contains(*record.position));
  return stored && record.window_bytes() <= client_->max_record_bytes;
}

}  // namespace walrelay
