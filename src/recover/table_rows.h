// TableRows: the rows of a recovery, read from the outbox tables and published to Kafka.
//
// Not thread-safe. Blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "publish/row_publisher.h"
#include "recover/recovery.h"
#include "walrelay/clock.h"
#include "walrelay/sink.h"

namespace walrelay {

struct Config;

class TableRows final : public RecoveryRows {
 public:
  static constexpr std::string_view kHeader = "walrelay.recovered";

  // Callbacks are called on the caller's thread.
  struct Reports {
    // For each row that is skipped or becomes a dead letter when it is published.
    std::function<void(const RowPublisher::Refusal&)> on_refused;
    // Rows so far, every few thousand rows.
    std::function<void(uint64_t rows)> on_progress;
  };

  // All must outlive it. `make_sink`: of those that publish.
  TableRows(const Config& config, SinkMaker make_sink, const Clock& clock, Reports reports)
      : config_(config),
        make_sink_(std::move(make_sink)),
        clock_(clock),
        reports_(std::move(reports)) {}

  absl::StatusOr<uint64_t> CountBefore(uint64_t xid) override;
  absl::StatusOr<RecoveredRows> Count(const RowsToRecover& rows, const Filter& filter) override;
  absl::StatusOr<RecoveredRows> Publish(const RowsToRecover& rows, const std::string& snapshot,
                                        std::string_view plan, const Filter& filter) override;

 private:
  absl::StatusOr<RecoveredRows> Run(const RowsToRecover& rows, const std::string& snapshot,
                                    const Filter& filter, const SinkMaker& make_sink,
                                    RowPublisher::Options options);

  const Config& config_;
  const SinkMaker make_sink_;
  const Clock& clock_;
  const Reports reports_;
};

}  // namespace walrelay
