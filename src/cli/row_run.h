// RowRun: a command that publishes rows, as its user sees it: progress and refused rows on standard
// error. Besides, what such commands share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/flag_set.h"
#include "postgres/row_reader.h"
#include "publish/record_ages.h"
#include "publish/row_publisher.h"
#include "walrelay/clock.h"
#include "walrelay/sink.h"
#include "walrelay/sink_factory.h"

namespace walrelay {

struct RouteConfig;

// "3 published, 1 skipped, 2 sent to the dead-letter topic": parts that are 0 are omitted, except
// the first.
std::string Describe(const RowPublisher::Counts& counts);

// Producers that print the records (RecordPrinter), and send none.
SinkMaker PrintingSinks(bool json);

// Before a command publishes rows of any age: nothing shows afterwards that Kafka deleted records.
// `read_ages` finds out the records' ages without publishing any. WR-4038 if topics would delete
// some at once; with `accept`, a warning on standard error. Not with route.timestamp = "now", which
// makes records new. Errors: those of `read_ages` and of ReadDeletedAtOnce().
absl::Status CheckDeletion(const RouteConfig& route, SinkFactory& sinks, bool accept,
                           const Clock& clock,
                           const std::function<absl::StatusOr<RecordAges>()>& read_ages);

// Adds --accept-deletion, the `accept` of CheckDeletion().
void AddAcceptDeletionFlag(FlagSet& set, bool& accept);

class RowRun {
 public:
  // `rows`: the expected number, for the progress lines.
  explicit RowRun(uint64_t rows) : rows_(rows) {}

  // Options whose callbacks print. This object must outlive their publisher.
  RowPublisher::Options options();

  // Publishes the rows that `next` returns, and waits until they are acknowledged; also after an
  // error, for the rows before it. Returns the first error.
  absl::Status Publish(RowPublisher& publisher,
                       const std::function<absl::StatusOr<std::optional<OutboxRow>>()>& next);

 private:
  const uint64_t rows_;
  std::optional<MonoTime> printed_at_;
};

}  // namespace walrelay
