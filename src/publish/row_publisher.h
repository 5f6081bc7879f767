// RowPublisher: publishes rows that were read from a table, or kept elsewhere.
//
// A row becomes the record that the relay would publish, with more headers; on_error applies to a
// row that cannot be published. The records of a key are published in the order of the rows. With
// the relay beside it, their order relative to the relay's records is not defined.
//
// Each row is held until its record was acknowledged. When a producer fails, the rows that were not
// acknowledged are offered to the next one, each alone: so a row that the brokers refuse is found,
// and named. Records that the failed producer had in flight may then be in the topics twice: at
// least once.
//
// Memory: the producer's window (pipeline.max_in_flight_records and max_in_flight_bytes), and the
// rows of these records. Not thread-safe. Publish() and Finish() block.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pgoutput/relation_cache.h"
#include "publish/held_row.h"
#include "publish/row_step.h"
#include "route/outbox_row.h"
#include "route/router.h"
#include "walrelay/clock.h"
#include "walrelay/config.h"
#include "walrelay/producer.h"
#include "walrelay/replication_source.h"

namespace walrelay {

class RowPublisher final : private DeliverySink, private RowAudit {
 public:
  // Rows, by what became of them.
  struct Counts {
    uint64_t published = 0;  // acknowledged
    uint64_t skipped = 0;
    uint64_t dead_letters = 0;  // acknowledged
    uint64_t filtered = 0;      // by Options::filter

    friend bool operator==(const Counts&, const Counts&) = default;
  };

  // A row that cannot be published, and what is done about it. Views are valid during the call.
  struct Refusal {
    uint64_t number = 0;  // of the Publish() that got the row, from 0
    std::string_view table;
    std::string_view row;  // "id=… key=…", escaped; never the payload
    const absl::Status& reason;
    OnError policy;
  };

  // Callbacks are called on the caller's thread, and must not call the publisher.
  struct Options {
    std::vector<std::pair<std::string, std::string>> headers;  // behind those of each record
    std::string topic;             // instead of the row's; "": the row's
    uint64_t rows_per_second = 0;  // 0: no limit
    // How long the brokers may acknowledge nothing, while rows wait for them, before Publish()
    // returns the reason: no broker is reachable, or a topic does not exist.
    Micros patience = std::chrono::seconds(30);
    // Decides what to do about a row that fails with this error. Empty: on_error; kStop for an
    // error without a setting.
    std::function<OnError(const absl::Status&)> policy;
    // False: the record is not published. Called once for each row that can be published, except
    // after a failure of the producer: then possibly again. Empty: all are.
    std::function<bool(const OutboxRow&, const Record&)> filter;
    // Called for each row that is skipped or becomes a dead letter, once. Required: nothing is
    // skipped silently.
    std::function<void(const Refusal&)> on_refused;
    // Called with the number of each row whose record was acknowledged.
    std::function<void(uint64_t number)> on_published;
    // Called at least every 100 ms during a wait, and for each record that was acknowledged.
    std::function<void(const Counts&)> on_progress;
    // Waits until `fd` is readable (-1: there is none), at most `timeout`. Empty: poll().
    std::function<void(int fd, Micros timeout)> wait;
  };

  // `config` and `clock` must outlive the publisher. Creates a producer, and waits for no broker.
  // Errors: those of `make_producer` and of Router::Create().
  static absl::StatusOr<std::unique_ptr<RowPublisher>> Create(const Config& config,
                                                              ProducerFactory make_producer,
                                                              const Clock& clock, Options options);
  ~RowPublisher() override;

  // The tables, and their descriptions: RowReader::tables() and relations(). Must precede the rows.
  // A later call replaces them. False: one of the relations is not of a configured table. REQUIRES:
  // no row is in flight.
  bool UseTables(std::span<const TableInfo> tables,
                 std::span<const pgoutput::CachedRelation> relations);

  // Hands the row's record to the producer. Waits while the window is full, and for the rate. The
  // row's values need not outlive the call; its relation must outlive the publisher. Errors name
  // the row: that of the row itself, if the policy is to stop; WR-4xxx of Kafka. Rows before it may
  // be in flight: Finish() waits for them. After an error that is not about a row, publishing has
  // ended.
  absl::Status Publish(const OutboxRow& row);

  // Waits until every row is acknowledged or was settled otherwise. Errors: as for Publish().
  absl::Status Finish();

  const Counts& counts() const { return counts_; }

 private:
  // A row from its offer to its acknowledgement.
  struct Entry {
    HeldRow row;
    RowState state;                // with a refusal, the row's record is a dead letter
    size_t bytes = 0;              // of its record in the window; 0: not produced yet
    std::optional<WallTime> time;  // of its record; nullopt: the producer's clock
    WallTime commit_time;          // that its record was made with
    bool settled = false;          // acknowledged, skipped or filtered
  };
  // The failures that the producer has reported since it was created.
  struct Failure {
    absl::Status cause;  // of a record that a broker judged; OK: none
    bool any = false;
  };

  RowPublisher(const Config& config, Router router, ProducerFactory make_producer,
               const Clock& clock, Options options);

  absl::Status CreateProducer();
  // Offers the last row until it is in flight or settled.
  absl::Status Send(size_t index);
  // One attempt. True: in flight or settled. `refusal`: the brokers refused the row's record for
  // this reason, if it is not OK.
  absl::StatusOr<bool> Offer(Entry& entry, size_t index, const absl::Status& refusal = {});
  absl::StatusOr<Offered> Produce(Entry& entry, size_t index, Record record);
  // Publishing ends before this row: it and the rows behind it are not offered again.
  void AbandonFrom(size_t index);
  Record Decorated(const Record& record);
  // After a failure: publishes the rows that were not acknowledged, one at a time.
  absl::Status Recover();
  absl::Status SendAlone(uint64_t number);
  // Passes on the reports that have arrived.
  void ReadReports();
  // Waits for reports for at most `timeout`, and passes them on. An error if patience has ended.
  absl::Status Turn(Micros timeout);
  absl::Status CheckPatience() const;
  // Replaces a failed producer; `entry` is the only row that it had in flight, if any.
  absl::Status ReplaceProducer(Entry& entry, size_t index);
  absl::Status AwaitRoom();
  absl::Status AwaitRate();
  bool broken() const { return failure_.any || !producer_->FatalError().ok(); }
  bool has_room() const;
  void Settle(Entry& entry);
  void DropSettled();
  absl::Status Named(const absl::Status& error, const OutboxRow& row) const;

  bool HasRoom() override { return true; }
  void OnGivenUp(const GivenUpRow& given_up) override;
  void OnDelivered(const Delivery& delivery) override;
  void OnFailed(const DeliveryFailure& report) override;

  const Config& config_;
  Router router_;
  const ProducerFactory make_producer_;
  const Clock& clock_;
  const Options options_;
  RowStep step_;
  std::unique_ptr<Producer> producer_;
  absl::Status ended_;  // not OK: no producer could be created
  int64_t max_batch_bytes_;
  std::deque<Entry> entries_;  // in the order of the rows
  uint64_t first_ = 0;         // the number of entries_.front()
  size_t bytes_ = 0;           // of records and rows in entries_ that are not settled
  Failure failure_;
  absl::Status trouble_;  // why the row that is offered is not accepted
  size_t offered_ = 0;    // the index of that row
  // Since when the brokers have acknowledged nothing, while rows are in flight.
  MonoTime progress_at_;
  std::optional<MonoTime> next_due_;  // of the next row, at the rate
  std::vector<Header> headers_;       // of the record that is being offered
  Counts counts_;
};

}  // namespace walrelay
