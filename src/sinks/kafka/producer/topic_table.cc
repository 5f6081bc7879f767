#include "sinks/kafka/producer/topic_table.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "sinks/kafka/topics/topic_creation.h"
#include "sinks/kafka/topics/topic_rules.h"
#include "walrelay/config/kafka.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Minimum interval between refreshes of leaders and counts after an error: an outage reports an
// error per broker and attempt.
constexpr Micros kRefreshPause = std::chrono::seconds(1);
// Topics that are awaited where brokers create them on demand: they create that many well within
// the time for which "unknown topic" counts as no answer.
constexpr size_t kMostOnDemand = 16;

// `opaque` is returned with each report. Call it before any other function names the topic:
// librdkafka applies the configuration of the first handle to all handles of a topic.
KafkaTopic OpenTopic(rd_kafka_t* client, const char* name, void* opaque) {
  rd_kafka_topic_conf_t* conf = rd_kafka_default_topic_conf_dup(client);
  rd_kafka_topic_conf_set_opaque(conf, opaque);
  return KafkaTopic(rd_kafka_topic_new(client, name, conf));
}

}  // namespace

TopicTable::TopicTable(rd_kafka_t* client, TopicMetadataFetcher& fetcher, TopicCreator& creator,
                       Options options, MonoTime now)
    : client_(client),
      fetcher_(fetcher),
      creator_(creator),
      options_(std::move(options)),
      refreshed_(now) {}

TopicTable::Topic& TopicTable::Find(std::string_view name) {
  // Successive records often have the same topic.
  if (last_ != nullptr && last_->name == name) {
    return *last_;
  }
  auto found = topics_.find(name);
  if (found == topics_.end()) {
    // On the heap: librdkafka keeps the address as the handle's opaque pointer.
    auto topic = std::make_unique<Topic>();
    topic->name = name;
    topic->handle = OpenTopic(client_, topic->name.c_str(), topic.get());
    Request(*topic);
    found = topics_.emplace(topic->name, std::move(topic)).first;
  }
  last_ = found->second.get();
  return *last_;
}

bool TopicTable::Announce(std::string_view name) {
  const bool may_be_created = options_.topics.create == CreateTopics::kNever;
  if (may_be_created && !topics_.contains(name) && fetcher_.waiting() >= kMostOnDemand) {
    return false;
  }
  Find(name);
  return true;
}

// A topic that walrelay creates need not be awaited: no broker creates it meanwhile.
void TopicTable::Request(Topic& topic) {
  topic.state = Topic::State::kAsked;
  topic.awaited = false;
  fetcher_.Request(topic.name, options_.topics.create == CreateTopics::kCreate
                                   ? TopicMetadataFetcher::Await::kNothing
                                   : TopicMetadataFetcher::Await::kOnDemand);
}

absl::StatusOr<bool> TopicTable::IsReady(Topic& topic) {
  switch (topic.state) {
    case Topic::State::kReady:
      return true;
    case Topic::State::kAsked:
      topic.awaited = true;
      return false;
    case Topic::State::kFailed:
      break;
  }
  WR_CHECK(!topic.error.ok(), "a failed topic has an error");
  const bool current = topic.awaited;
  Request(topic);
  if (!current) {
    topic.awaited = true;
    return false;
  }
  // The error is returned once; the next call waits for the new result.
  return topic.error;
}

// The topic may have grown since its metadata was fetched. Only an answer to a request that was
// sent for this record justifies refusing it.
absl::StatusOr<Offered> TopicTable::OnAbsentPartition(Topic& topic, const Record& record,
                                                      int32_t partition) {
  switch (topic.partitions.Where(partition)) {
    case TopicPartitions::Place::kExists:  // librdkafka does not know it yet
      break;
    case TopicPartitions::Place::kWaits:
      if (topic.partitions.changing()) {
        return Wait::kQueue;  // the last report in flight makes the change
      }
      break;
    case TopicPartitions::Place::kMissing:
      if (record.partition && std::exchange(topic.sought, partition) == partition) {
        topic.sought.reset();
        return Error(ErrorCode::kValueInvalid, fmt::format("topic {} has no partition {}",
                                                           Printable(record.topic, 80), partition));
      }
      break;
  }
  Request(topic);
  return Wait::kTopic;
}

void TopicTable::OnAccepted(Topic& topic, int32_t partition, MonoTime now) {
  WR_CHECK(partition < topic.partitions.count(), "a record enters a partition that exists");
  topic.partitions.OnAccepted(partition, now);
  topic.sought.reset();
  produced_ = true;
}

TopicTable::Topic& TopicTable::Of(const rd_kafka_message_t& message) {
  auto* topic = static_cast<Topic*>(rd_kafka_topic_opaque(message.rkt));
  WR_CHECK(topic != nullptr, "each handle was opened with its entry");
  return *topic;
}

void TopicTable::OnDelivered(Topic& topic, int32_t partition, MonoTime now) {
  topic.partitions.OnDelivered(partition, now);
  if (topic.partitions.changing()) {
    ApplyCountChange(topic);
  }
}

// No change of the count takes effect: the producer has failed, and the next one starts with the
// count that it fetches.
void TopicTable::OnFailed(Topic& topic, int32_t partition) {
  topic.partitions.OnFailed(partition);
}

std::vector<AwaitedPartition> TopicTable::Awaited(size_t most) const {
  std::vector<AwaitedPartition> awaited;
  const auto add = [&](const Topic& topic, int32_t partition) {
    if (awaited.size() < most) {
      awaited.push_back({topic.name, partition});
    }
  };
  for (const auto& entry : topics_) {
    const Topic& topic = *entry.second;
    if (topic.state == Topic::State::kAsked) {
      add(topic, AwaitedPartition::kMetadata);
    }
    topic.partitions.ForEachInFlight([&](int32_t partition) { add(topic, partition); });
  }
  return awaited;
}

absl::Status TopicTable::ApplyMetadata() {
  absl::Status error;
  for (const TopicMetadataFetcher::Result& result : fetcher_.DrainResults()) {
    // A refresh covers every topic that librdkafka knows.
    const auto topic = topics_.find(result.topic);
    if (topic != topics_.end()) {
      error.Update(Apply(result, *topic->second));
    }
  }
  return error;
}

void TopicTable::OnMetadataError(const TopicMetadataFetcher::Result& result, Topic& topic) {
  const bool unknown = HasCode(result.status, ErrorCode::kTopicUnknown);
  if (unknown) {
    topic.partitions.OnMissing();
    topic.ForgetTail();
  }
  if (!result.asked) {
    if (topic.state == Topic::State::kReady) {
      Request(topic);  // one broker may not know the topic yet
    }
  } else if (unknown && options_.topics.create == CreateTopics::kCreate) {
    creator_.Request(topic.name);
  } else {
    topic.state = Topic::State::kFailed;
    topic.error = WithRemedy(result.status, topic);
  }
}

// The commands that help with this topic, as far as the configuration knows them.
absl::Status TopicTable::WithRemedy(const absl::Status& error, const Topic& topic) const {
  const CreateTopics create = options_.topics.create;
  if (create == CreateTopics::kCheck && HasCode(error, ErrorCode::kTopicUnknown)) {
    return Error(ErrorCode::kTopicUnknown, MessageOf(error),
                 fmt::format("{}; or let walrelay create topics: create = \"create\" in "
                             "[kafka.topics]. walrelay checks again automatically.",
                             CreateTopicCommand(topic.name, RuleFor(options_.topics, topic.name))));
  }
  if (create == CreateTopics::kCreate && HasCode(error, ErrorCode::kTopicDenied)) {
    return Error(ErrorCode::kTopicDenied, MessageOf(error), TopicAclRemedy(topic.name));
  }
  return error;
}

// The topic's metadata is requested again before its first record: not every broker may know it.
void TopicTable::ApplyCreations() {
  for (TopicAnswer& answer : creator_.DrainResults()) {
    const auto found = topics_.find(answer.topic);
    WR_CHECK(found != topics_.end(), "only topics of the table are created");
    Topic& topic = *found->second;
    if (!answer.status.ok()) {
      topic.state = Topic::State::kFailed;
      topic.error = std::move(answer.status);
      continue;
    }
    fetcher_.Request(topic.name, TopicMetadataFetcher::Await::kCreation);
    if (answer.created) {
      topic.tail = Topic::Tail::kSettled;  // it has no records
      LogInfo("topic_created", NameOf(RuleFor(options_.topics, topic.name)),
              {{"topic", topic.name}});
      if (options_.on_topic_created) {
        options_.on_topic_created();
      }
    }
  }
}

absl::Status TopicTable::Apply(const TopicMetadataFetcher::Result& result, Topic& topic) {
  if (!result.status.ok()) {
    OnMetadataError(result, topic);
    return absl::OkStatus();
  }
  if (result.asked) {
    topic.state = Topic::State::kReady;
  }
  if (const int changed = topic.partitions.Learn(result.leaders); changed > 0) {
    LogDebug("leader_changed", "the next record of each partition is sent alone",
             {{"topic", topic.name}, {"partitions", changed}});
  }
  absl::Status error;
  // The topic was recreated with fewer partitions: records in flight to the missing partitions will
  // never be acknowledged.
  if (topic.partitions.stranded()) {
    error = Error(
        ErrorCode::kPartitionsChanged,
        fmt::format("topic {} has {} partitions, expected {}; records in flight to the missing "
                    "partitions are sent again",
                    Printable(topic.name, 80), result.leaders.size(), topic.partitions.count()));
  }
  ApplyCountChange(topic);
  return error;
}

void TopicTable::ApplyCountChange(Topic& topic) {
  const auto change = topic.partitions.TakeCountChange();
  if (!change) {
    return;
  }
  topic.ForgetTail();
  LogStatus(LogLevel::kWarning, "partitions_changed",
            Error(ErrorCode::kPartitionsChanged,
                  fmt::format("topic {} now has {} partitions, previously {}",
                              Printable(topic.name, 80), change->now, change->before)),
            {{"topic", topic.name}, {"before", change->before}, {"now", change->now}});
  if (options_.on_partitions_changed) {
    options_.on_partitions_changed();
  }
}

// While nothing is produced and nothing fails, no metadata is requested: brokers that create topics
// on demand would recreate a topic that was deleted.
void TopicTable::RefreshIfDue(MonoTime now) {
  const Micros pause = refresh_wanted_ ? kRefreshPause : options_.refresh_interval;
  if ((produced_ || refresh_wanted_) && now - refreshed_ >= pause && !topics_.empty()) {
    refreshed_ = now;
    produced_ = false;
    refresh_wanted_ = false;
    fetcher_.Refresh();
  }
}

}  // namespace walrelay
