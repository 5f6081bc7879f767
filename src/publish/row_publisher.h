// RowPublisher: publishes rows that were read from a table, or kept elsewhere, and waits.
//
// A row becomes the record that the relay would publish, with more headers; on_error applies to a
// row that cannot be published. The records of a key are published in the order of the rows. With
// the relay beside it, their order relative to the relay's records is not defined.
//
// RowQueue does the work, and holds the rows. This class waits for it, for a command: for room, for
// a rate, and for the brokers, with a limit. Not thread-safe. Publish() and Finish() block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "metrics/metrics.h"
#include "pgoutput/relation_cache.h"
#include "publish/row_queue.h"
#include "route/outbox_row.h"
#include "walrelay/clock.h"
#include "walrelay/replication_source.h"
#include "walrelay/sink.h"

namespace walrelay {

struct Config;

class RowPublisher {
 public:
  using Counts = RowQueue::Counts;
  using Refusal = RowQueue::Refusal;

  // Callbacks are called on the caller's thread, and must not call the publisher.
  struct Options : RowQueue::Options {
    uint64_t rows_per_second = 0;  // 0: no limit
    // How long the brokers may acknowledge nothing, while rows wait for them, before Publish()
    // returns the reason: no broker is reachable, or a topic does not exist.
    Micros patience = std::chrono::seconds(30);
    // Called at least every 100 ms during a wait.
    std::function<void(const Counts&)> on_progress;
    // Waits until `fd` is readable (-1: there is none), at most `timeout`. Empty: poll().
    std::function<void(int fd, Micros timeout)> wait;
  };

  // `config` and `clock` must outlive the publisher. Errors: those of RowQueue::Create().
  static absl::StatusOr<std::unique_ptr<RowPublisher>> Create(const Config& config,
                                                              SinkMaker make_sink,
                                                              const Clock& clock, Options options);

  // As RowQueue::UseTables(). Must precede the rows. REQUIRES: no row is in flight.
  bool UseTables(std::span<const TableInfo> tables,
                 std::span<const pgoutput::CachedRelation> relations) {
    return queue_->UseTables(tables, relations);
  }

  // Hands the row's record to the sink. Waits while the window is full, and for the rate. The
  // row's values need not outlive the call; its relation must outlive the publisher. Errors name
  // the row: that of the row itself, if the policy is to stop; WR-4xxx of Kafka. Rows before it may
  // be in flight: Finish() waits for them. After an error that is not about a row, publishing has
  // ended.
  absl::Status Publish(const OutboxRow& row);

  // Waits until every row is acknowledged or was settled otherwise. Errors: as for Publish().
  absl::Status Finish();

  const Counts& counts() const { return queue_->counts(); }

 private:
  RowPublisher(const Clock& clock, const Options& options);

  // Lets the queue work, and waits for at most `timeout`. An error if patience has ended.
  absl::Status Turn(Micros timeout);
  absl::Status CheckPatience() const;
  absl::Status AwaitRate();

  const Clock& clock_;
  const Options options_;
  MetricsRegistry registry_;  // no page shows what a command counts
  Metrics metrics_;
  std::unique_ptr<RowQueue> queue_;
  uint64_t rows_ = 0;                 // that were handed to Publish()
  std::optional<MonoTime> next_due_;  // of the next row, at the rate
};

}  // namespace walrelay
