// DeadLetterTopic: the dead letters of a pipeline, as its topic has them now.
//
// Marks in the topic show which of them were published later: `walrelay dead-letters retry` writes
// one after each thousand letters, and at its end. A mark is a record like a dead letter, with the
// header "walrelay.retried", so that other readers of the topic can tell them apart.
//
// Not thread-safe. Blocks. Memory: 16 bytes for each letter that is marked, one letter, and what
// the consumer has fetched (about 6 MiB).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "encode/stored_dead_letter.h"
#include "walrelay/clock.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

struct ErrorPolicy;

inline constexpr std::string_view kRetriedHeader = "walrelay.retried";

// One of them. `letter` is nullopt for a record that another program wrote to the topic.
struct DeadLetterEntry {
  DeadLetterId id;
  std::optional<std::string> key;
  std::optional<WallTime> time;  // of the record: the row's commit time
  std::optional<StoredDeadLetter> letter;
  bool retried = false;  // a mark says that it was published
};

class DeadLetterTopic {
 public:
  // REQUIRES: `on_error` names the topic, and outlives the object, as `sinks` does.
  DeadLetterTopic(const ErrorPolicy& on_error, SinkFactory& sinks);

  // Reads the topic twice: first the marks, then the letters that it has now, those of each
  // partition in their order, for at most `timeout`. An error of `on_entry` ends the reading. A
  // topic that does not exist has no letters. Errors: those of TopicReader.
  absl::Status ForEach(const std::function<absl::Status(const DeadLetterEntry&)>& on_entry,
                       Micros timeout = kReadTimeout) const;
  static constexpr Micros kReadTimeout = std::chrono::minutes(10);

  // Writes a mark, and waits for its acknowledgement. `run`: the value of the header. Errors: those
  // of SinkFactory::WriteRecord(). REQUIRES: at least one letter, at most kLettersOfMark.
  absl::Status MarkRetried(std::span<const DeadLetterId> letters, std::string_view run) const;
  static constexpr size_t kLettersOfMark = 1000;

 private:
  SinkFactory& sinks_;
  const std::string& topic_;
};

}  // namespace walrelay
