// SinkFactory: everything that walrelay uses of the system it publishes to.
//
// A kind of sink implements this interface in a folder of its own (src/sinks/), and has a line in
// the registry. No other code knows which kind a pipeline publishes to.
//
// Threads: a factory is used on one thread. It must outlive what it has made, and the configuration
// that it was made for must outlive the factory.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "walrelay/clock.h"
#include "walrelay/progress.h"
#include "walrelay/record.h"
#include "walrelay/sink.h"

namespace walrelay {

// The wishes of the owner of sinks, besides the configuration. The callbacks may be empty, and are
// called inside Poll(). They are copied into each client, and destroyed with it.
struct SinkOptions {
  bool delivery_details = false;  // fill the headers of a Delivery
  // Log a topic that deletes the first record of a sink at once, because of its time.
  bool warn_of_deletion = false;
  // Clients that are no longer used end on threads of their own: see WaitForClients().
  bool close_in_background = false;
  std::function<void()> on_partitions_changed;
  std::function<void()> on_topic_created;
};

struct ProgressOptions {
  int stop_fd = -1;  // a call returns early when it is readable; -1: never
  // How long a call waits for brokers that send nothing.
  Micros patience = std::chrono::seconds(20);
  // How long Write() waits for the acknowledgement, at most twice.
  Micros write_timeout = std::chrono::seconds(30);
  // Called about once a second while a call waits, on the caller's thread; may be empty.
  std::function<void()> alive;
};

// The client library of a kind of sink, as it is loaded.
struct SinkLibrary {
  std::string name;  // "librdkafka"
  std::string version;
};

// A record as it is stored. Null and empty keys and values are distinct.
struct StoredRecord {
  std::string topic;
  int32_t partition = 0;
  int64_t offset = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  std::optional<WallTime> timestamp;  // in milliseconds; nullopt: the record has none
};

// A stored record, valid during a callback, like the views that it returns. Null and empty ones are
// distinct.
class TopicRecord {
 public:
  using Text = std::optional<std::string_view>;

  virtual ~TopicRecord() = default;

  virtual int32_t partition() const = 0;
  virtual int64_t offset() const = 0;
  virtual Text key() const = 0;
  virtual Text value() const = 0;
  // In milliseconds; nullopt if the record has none.
  virtual std::optional<WallTime> timestamp() const = 0;
  // The last header of this name; nullopt: there is none, or it is null.
  virtual Text Header(const char* name) const = 0;
  // In their order.
  virtual std::vector<std::pair<std::string_view, Text>> headers() const = 0;
};

// Reads topics record by record, so that memory is bounded. Not thread-safe. Blocks.
class TopicReader {
 public:
  using OnRecord = std::function<absl::Status(const TopicRecord&)>;

  virtual ~TopicReader() = default;

  // Reads all records of a topic that are committed; with `since`, of each partition the first one
  // with that timestamp or a later one, and all after it. `on_record` gets those of each partition
  // in the order of their offsets; its error ends the scan. A topic that does not exist has none.
  // Returns why the records do not count, because they may not be stored safely; "": they count.
  // Errors: WR-4001, also after `timeout` or for a partition without a leader, WR-4005, WR-4007.
  virtual absl::StatusOr<std::string> Scan(const std::string& topic, std::optional<WallTime> since,
                                           Micros timeout, const OnRecord& on_record) = 0;
};

class SinkFactory {
 public:
  // Gets the name of an option, and the error of its value.
  using OnInvalid = std::function<void(std::string option, const absl::Status& error)>;

  virtual ~SinkFactory() = default;

  virtual SinkLibrary library() const = 0;

  // Passes on every error of the sink's options that only the library and the files of this machine
  // can tell. Reads the files that the configuration names, but connects to nothing and runs no
  // command.
  virtual void CheckOffline(const OnInvalid& on_invalid) const = 0;

  // Creates a sink. Does not wait for a broker; an error is one of the configuration. Reads the
  // files with secrets, so that each sink uses their current contents.
  virtual absl::StatusOr<std::unique_ptr<Sink>> Make(const SinkRequest& request) = 0;

  // Opens the progress topics. Connects to nothing yet.
  virtual std::unique_ptr<ProgressTopic> OpenProgress(ProgressOptions options) = 0;

  // --- topics: each call connects with a client of its own, and blocks

  // Errors: those of the configuration.
  virtual absl::StatusOr<std::unique_ptr<TopicReader>> OpenReader() = 0;

  // All records of the topics, sorted by topic, partition and offset; `since`: see
  // TopicReader::Scan(). All are in memory at once. Blocks, for each topic for at most `timeout`.
  // Errors: those of Scan().
  virtual absl::StatusOr<std::vector<StoredRecord>> ReadTopics(
      const std::vector<std::string>& topics, Micros timeout, std::optional<WallTime> since) = 0;

  // The number of partitions of each topic that exists. Errors: WR-4001, WR-4006, WR-4007.
  virtual absl::StatusOr<std::map<std::string, int, std::less<>>> CountPartitions(
      const std::vector<std::string>& topics, Micros timeout) = 0;

  // How long each topic keeps a record after the record's time. Topics are absent if that does not
  // depend on the time, if it is unknown, or if they do not exist. Errors: WR-4001, WR-4006,
  // WR-4007.
  virtual absl::StatusOr<std::map<std::string, Micros, std::less<>>> ReadRetention(
      const std::vector<std::string>& topics, Micros timeout) = 0;

  // Sends one record, outside of any transaction, and waits for its acknowledgement. Blocks for at
  // most twice `timeout`. Errors: those of a delivery; WR-4008 without an acknowledgement in time.
  virtual absl::Status WriteRecord(const Record& record, Micros timeout) = 0;

  // The partition of a record with this key in a topic with this number of partitions. Pure.
  virtual int32_t PartitionOf(std::string_view key, int partitions) const = 0;

  // --- clients

  // Waits until all clients that end in the background have ended, at most `timeout`. False: some
  // have not.
  virtual bool WaitForClients(Micros timeout) = 0;
};

}  // namespace walrelay
