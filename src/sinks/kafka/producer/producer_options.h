// ProducerOptions: what a KafkaProducer needs besides the configuration of its client.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "sinks/kafka/client/handles.h"
#include "sinks/kafka/topics/tail_reader.h"
#include "walrelay/clock.h"
#include "walrelay/config/kafka.h"
#include "walrelay/sink.h"

namespace walrelay {

class Reaper;

// Durations are those between checks. The callbacks are called on the owner's thread, inside
// Poll().
struct ProducerOptions {
  bool delivery_details = false;  // fill the headers of a Delivery
  // Checked while the producer lives; "" if the password is not in a file. Certificates are
  // checked in any case.
  std::string password_file;
  std::string key_password_file;
  Micros sample_interval = std::chrono::seconds(2);
  // Between refreshes of the metadata of topics in use; topic.metadata.refresh.interval.ms if
  // that is less.
  Micros refresh_interval = std::chrono::minutes(1);
  Micros login_grace = std::chrono::seconds(30);  // after a refused login: SinkHealth::outdated
  // Log a topic that deletes the first record of this producer at once, because of its time.
  bool warn_of_deletion = false;
  Reaper* reaper = nullptr;  // must outlive the producer
  TopicsConfig topics;       // who creates missing topics, and how
  // Makes the settings of other clients. Empty: SkipStored() skips nothing, and Examine() finds
  // out nothing.
  TailReader::ConfFactory consumer_conf;
  // The progress record that a producer with a transactional id reads after the claim.
  ProgressAddress progress;
  std::function<absl::StatusOr<KafkaConf>()> progress_conf;  // MakeProgressConf()
  Micros commit_limit = std::chrono::seconds(10);            // see SinkRequest
  // Only for tests, which show what happens then: a delayed EndTxn ends another transaction.
  bool reuse_after_repeated_commit = false;
  std::function<void()> on_partitions_changed;  // to count the changes; may be empty
  std::function<void()> on_topic_created;       // to count the topics; may be empty
};

}  // namespace walrelay
