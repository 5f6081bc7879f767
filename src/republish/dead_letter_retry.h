// Publishes dead letters again, as the present configuration routes their rows.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "encode/stored_dead_letter.h"
#include "publish/row_publisher.h"
#include "republish/dead_letter_topic.h"
#include "walrelay/sink.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

struct Config;

// Letters that were published already are selected only with `again`.
struct DeadLetterSelection {
  std::set<DeadLetterId> ids;
  std::set<std::string> codes;
  bool all = false;
  bool again = false;

  // By id, code or `all`; whether or not it was published already.
  bool Includes(const DeadLetterEntry& entry) const;
};

struct RetryCounts {
  uint64_t published = 0;
  uint64_t failed = 0;   // reported by on_failed
  uint64_t retried = 0;  // selected, and published by an earlier run
};

struct RetryOptions {
  DeadLetterSelection selection;
  SinkMaker make_sink;
  std::string run;    // the value of the header "walrelay.retried"
  bool mark = false;  // write marks; not for a sink that does not publish
  // Publish rows as the letters have them. Every user who may write to the topic can then publish
  // any event; otherwise a letter only names a row, which is read from its table.
  bool trust_topic = false;
  // As that of RowPublisher.
  std::function<bool(const OutboxRow&, const Record&)> filter;
  // A letter that is not published: its row fails again, is incomplete and no longer in its table,
  // or cannot be read.
  std::function<void(const DeadLetterId&, const absl::Status&)> on_failed;
};

// The letters of each partition are published in their order. A letter that fails again is
// reported, and gets no further dead letter. Without trust_topic, and for truncated and transformed
// rows, the row is read from its table. Blocks. Errors of Postgres and Kafka end the run: the
// letters that were published before are marked, if Kafka is still available.
absl::StatusOr<RetryCounts> RetryDeadLetters(const Config& config, SinkFactory& sinks,
                                             const RetryOptions& options);

}  // namespace walrelay
