// TopicTable: the topics that a producer has sent to, with what the brokers report about them.
//
// A topic enters the table with its first record, which waits until the topic's metadata has
// arrived. From then on the table follows the topic's partition count and leaders
// (TopicPartitions). An unknown topic is created first, if the configuration says so. Otherwise it
// stays in the table as failed, as does one that cannot be created: the next record of it requests
// the metadata again, so that a topic which is created later is found.
//
// Topics are never removed: reports refer to their entries, and route.max_topics limits their
// number.
//
// Single-threaded: used by the producer's owner. The requests are sent by the fetcher's thread.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/string_hash.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/producer/client_examiner.h"
#include "sinks/kafka/producer/topic_metadata_fetcher.h"
#include "sinks/kafka/producer/topic_partitions.h"
#include "sinks/kafka/topics/topic_creator.h"
#include "stream/stored_events.h"
#include "walrelay/clock.h"
#include "walrelay/config/kafka.h"
#include "walrelay/record.h"
#include "walrelay/sink.h"

namespace walrelay {

class TopicTable {
 public:
  struct Options {
    Micros refresh_interval{0};  // of the metadata of topics in use
    TopicsConfig topics;
    std::function<void()> on_partitions_changed;  // may be empty
    std::function<void()> on_topic_created;       // by walrelay; may be empty
  };

  // An entry. Its address is stable, and is the opaque of the topic's handle.
  struct Topic {
    enum class State { kAsked, kReady, kFailed };
    enum class Tail { kUnread, kAsked, kSettled };

    std::string name;
    KafkaTopic handle;
    State state = State::kAsked;
    absl::Status error;    // of kFailed
    bool awaited = false;  // a record has asked since the metadata was requested
    // The partition that the next record names and that no answer has had so far: the metadata was
    // requested again for it.
    std::optional<int32_t> sought;
    TopicPartitions partitions;
    bool has_record = false;  // librdkafka accepted one
    // The events that the topic had when its end was read, by partition; empty: none are known.
    Tail tail = Tail::kUnread;
    std::vector<StoredEvents> stored;

    // The partitions, or the keys in them, are no longer those whose ends were read, or are being
    // read.
    void ForgetTail() {
      stored.clear();
      tail = tail == Tail::kAsked ? Tail::kSettled : tail;
    }
  };

  // `client`, `fetcher` and `creator` must outlive it, except for its destruction.
  TopicTable(rd_kafka_t* client, TopicMetadataFetcher& fetcher, TopicCreator& creator,
             Options options, MonoTime now);

  // --- a record that is to be produced

  // The topic of this name; requests the metadata of a new one, also before it has a record. The
  // result is valid as long as the table.
  Topic& Find(std::string_view name);
  // Requests the metadata of a topic that will have a record, if it is new. False: as many topics
  // as brokers should create on demand at a time are not known yet.
  bool Announce(std::string_view name);
  // Whether the topic's metadata is known; false while it is being fetched. An error (WR-3005,
  // WR-4004, WR-4005, WR-4014) is returned once; the next call waits for a new result. An error
  // from before the first call is not returned: its cause may have ended long ago.
  absl::StatusOr<bool> IsReady(Topic& topic);
  // The record of this topic cannot be sent to `partition` now: it does not exist as far as is
  // known, its number is beyond a count that has not taken effect, or librdkafka does not know it.
  // WR-3007 if the record itself names a partition that brokers do not have when they are asked
  // for it.
  absl::StatusOr<Offered> OnAbsentPartition(Topic& topic, const Record& record, int32_t partition);
  // librdkafka accepted a record for the partition.
  void OnAccepted(Topic& topic, int32_t partition, MonoTime now);

  // --- reports

  // The topic of a report.
  static Topic& Of(const rd_kafka_message_t& message);
  // A record was acknowledged, or failed. REQUIRES: it was accepted, and not reported before.
  void OnDelivered(Topic& topic, int32_t partition, MonoTime now);
  void OnFailed(Topic& topic, int32_t partition);

  // --- records that wait

  // The partitions with records in flight, and the topics whose metadata a record waits for; at
  // most `most`.
  std::vector<AwaitedPartition> Awaited(size_t most) const;

  // --- metadata

  // Applies the results that have arrived. WR-4011 if records are in flight to partitions that no
  // longer exist: the producer must be abandoned.
  absl::Status ApplyMetadata();
  // Applies what has become of the topics that were to be created.
  void ApplyCreations();
  // An error may mean that a leader has changed: refresh soon.
  void WantRefresh() { refresh_wanted_ = true; }
  // Refreshes the metadata of all topics if it is due.
  void RefreshIfDue(MonoTime now);

 private:
  void Request(Topic& topic);
  void OnMetadataError(const TopicMetadataFetcher::Result& result, Topic& topic);
  absl::Status WithRemedy(const absl::Status& error, const Topic& topic) const;
  absl::Status Apply(const TopicMetadataFetcher::Result& result, Topic& topic);
  void ApplyCountChange(Topic& topic);

  rd_kafka_t* const client_;
  TopicMetadataFetcher& fetcher_;
  TopicCreator& creator_;
  const Options options_;
  StringMap<std::unique_ptr<Topic>> topics_;
  Topic* last_ = nullptr;        // most records have the topic of their predecessor
  bool produced_ = false;        // since the last refresh
  bool refresh_wanted_ = false;  // an error was reported since the last refresh
  MonoTime refreshed_;
};

}  // namespace walrelay
