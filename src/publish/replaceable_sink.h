// ReplaceableSink: the sink that a session uses, whichever sink is behind it at the time.
//
// A Kafka sink that failed is never repaired, only replaced. The session keeps this object. It
// accepts no record until a sink exists, and none while the current one is about to be replaced:
// the session then holds its messages and continues to report to the server.
//
// Single-threaded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "metrics/metrics.h"
#include "walrelay/clock.h"
#include "walrelay/sink.h"

namespace walrelay {

// Two questions are kept apart: whether a sink exists, and whether it accepts records. One that
// is about to be replaced exists until its reports have arrived.
class ReplaceableSink final : public Sink {
 public:
  struct Parts {
    SinkMaker make;
    int64_t max_batch_bytes;        // as configured
    Micros transaction_timeout{0};  // see AllowMoreTime()
    const Clock& clock;
    Metrics& metrics;
    uint64_t seed = 0;  // for the jitter of the back-off
  };

  // `clock` and `metrics` must outlive it. Create() makes the first sink.
  explicit ReplaceableSink(Parts parts);

  // --- Sink: of the current one. Each call is allowed at any time unless stated otherwise.

  // kQueue without a sink, and while the current one is about to be replaced. One that is
  // to be renewed accepts a progress record: without it, its transaction could not be committed.
  absl::StatusOr<Offered> Produce(const Record& record, DeliveryToken token) override;
  bool Announce(std::string_view topic) override;
  // Passes on nothing without a sink.
  void Poll(DeliveryListener& listener) override;
  // OK without a sink.
  absl::Status FatalError() const override;
  // REQUIRES: failed().
  void AbandonUndelivered() override;
  // Without a sink: unreachable, and why there is none.
  SinkHealth health() const override;
  std::string ClusterId() const override;
  int poll_fd() const override;
  // Returns nullptr without a sink.
  Transactions* transactions() override;
  Examiner* examiner() override;

  // Ends the transaction of the current sink: see Transactions. REQUIRES: the sink has accepted a
  // record since the last commit, and has not failed.
  void Commit();

  // --- what is asked of the next sinks

  // From now on sinks are created for transactions.
  void UseTransactions(std::string transactional_id, ProgressAddress progress);
  bool uses_transactions() const { return !transactional_id_.empty(); }
  // Applies to every sink created from now on, not to the current one: see Positions.
  void SkipStored(const WalHistory& history) { history_ = history; }

  // --- its life
  // While a session runs, there is a sink, or a time at which the next one is created.

  bool exists() const { return sink_ != nullptr; }
  MonoTime created_at() const { return created_at_; }
  // When the next sink is due; nullopt while there is one.
  std::optional<MonoTime> retry_at() const { return retry_at_; }

  // Creates a sink in place of the current one, whose records in flight are dropped unreported.
  // An error is one of the configuration, and leaves the owner without a sink.
  absl::Status Create();
  // Creates the sink that is due. An error means that it is due again after a back-off.
  // REQUIRES: there is a sink, or retry_at() is set.
  absl::Status CreateIfDue(MonoTime now);
  // Drops the records in flight unreported. The time of the next sink stays as it was.
  void Destroy();
  // Destroys the sink; the next one is due at `retry_at`. REQUIRES: `cause` is an error, which
  // health() returns until the next one exists.
  void Retire(const absl::Status& cause, MonoTime retry_at);

  // The current sink accepts no more records, because it has failed (or its credentials are
  // outdated). Returns since when: the first call counts. A failure lasts until the sink is
  // destroyed, a renewal can be cancelled. REQUIRES: exists().
  MonoTime StopForFailure(MonoTime now);
  // The current sink has failed. True: wait for reports of records that were in flight to other
  // brokers, which name the cause, or may still be acknowledgements. After a while the undelivered
  // records are abandoned; reports that never arrive are not awaited for long. `all_reported`: a
  // report has arrived for each record. REQUIRES: exists().
  bool AwaitReports(bool all_reported, MonoTime now);
  MonoTime StopForRenewal(MonoTime now);
  void CancelRenewal() { outdated_since_.reset(); }
  bool failed() const { return failing_since_.has_value(); }

  // A broker compares the size of a batch, not of a record, with the topic's limit, and librdkafka
  // does not split a refused batch. Therefore the next sink builds smaller batches. (A query
  // for each topic's limit would need an additional ACL.)
  void ShrinkBatches();
  void ResetBatches() { max_batch_bytes_ = parts_.max_batch_bytes; }

  // The brokers may be slow: the next sink waits longer for a commit, see SinkRequest.
  void AllowMoreTime();
  void ResetTime() { commit_limit_ = FirstCommitLimit(); }

  // The pause before the next sink; grows until ResetBackoff().
  Micros NextPause() { return backoff_.Next(); }
  void ResetBackoff() { backoff_.Reset(); }

 private:
  // Whether a record may enter now.
  bool usable() const { return settles() && !outdated_since_; }
  // Whether the records in flight may still be acknowledged.
  bool settles() const { return sink_ != nullptr && !failing_since_; }
  Micros FirstCommitLimit() const { return parts_.transaction_timeout / 3; }

  Parts parts_;
  std::unique_ptr<Sink> sink_;
  Backoff backoff_;
  // The next sink's; reset when a single record, sent alone, was refused for its size.
  int64_t max_batch_bytes_;            // reduced after a broker refused a batch
  Micros commit_limit_;                // the next sink's
  std::optional<WalHistory> history_;  // for SkipStored()
  std::string transactional_id_;       // "": without transactions
  ProgressAddress progress_;
  MonoTime created_at_;
  // health() returns it until the next sink exists.
  absl::Status error_;  // why there is none
  std::optional<MonoTime> retry_at_;
  // Since when the sink accepts nothing, and why: it failed, or is to be renewed.
  std::optional<MonoTime> failing_since_;
  std::optional<MonoTime> outdated_since_;
};

}  // namespace walrelay
