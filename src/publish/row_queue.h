// RowQueue: publishes rows that no stream repeats: it holds each from its hand-over to its end.
//
// It does for rows of a table what Relay and Pipeline do for the stream, with the same parts:
// RowStep decides about a row, RecordSender hands its record to the sink and finds a refused
// one, ReplaceableSink replaces a sink that failed. Rows are offered in the order of
// Push(); a row that waits holds back those behind it. When a sink fails, the rows whose
// records were not acknowledged are offered to the next one again, from the first such row on: at
// least once, and the records of a key keep their order.
//
// Memory: the window (pipeline.max_in_flight_records and max_in_flight_bytes), which counts rows
// and records. Single-threaded; never blocks.
#pragma once

#include <cstddef>
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
#include "metrics/metrics.h"
#include "pgoutput/relation_cache.h"
#include "publish/held_row.h"
#include "publish/record_sender.h"
#include "publish/replaceable_sink.h"
#include "publish/row_step.h"
#include "route/outbox_row.h"
#include "route/router.h"
#include "stream/ack_tracker.h"
#include "walrelay/clock.h"
#include "walrelay/config/on_error.h"
#include "walrelay/position.h"
#include "walrelay/replication_source.h"
#include "walrelay/sink.h"

namespace walrelay {

struct Config;

class RowQueue final : private DeliveryListener, private RowAudit {
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
    uint64_t number = 0;  // of the Push() that got the row, from 0
    std::string_view table;
    std::string_view row;  // "id=… key=…", escaped; never the payload
    const absl::Status& reason;
    OnError policy;
  };

  // The queue calls the callbacks within its methods; they must not call the queue.
  struct Options {
    std::vector<std::pair<std::string, std::string>> headers;  // behind those of each record
    std::string topic;  // instead of the row's; "": the row's
    // Decides what to do about a row that fails with this error. Empty: on_error.
    RowStep::Policy policy;
    // False: the record is not published. Called once for each row that can be routed. Empty: all
    // are published.
    std::function<bool(const OutboxRow&, const Record&)> filter;
    // Called for each row that is skipped or becomes a dead letter, once. Required: nothing is
    // skipped silently.
    std::function<void(const Refusal&)> on_refused;
    // Called with the number of each row whose record was acknowledged.
    std::function<void(uint64_t number)> on_published;
  };

  // `config`, `clock` and `metrics` must outlive the queue. Creates a sink, and waits for no
  // broker. Errors: those of `make_sink` and of Router::Create().
  static absl::StatusOr<std::unique_ptr<RowQueue>> Create(const Config& config, SinkMaker make_sink,
                                                          const Clock& clock, Metrics& metrics,
                                                          Options options);

  // The tables of the rows that follow, and their descriptions. A later call replaces them. False:
  // one of the relations is not of a configured table. REQUIRES: empty().
  bool UseTables(std::span<const TableInfo> tables,
                 std::span<const pgoutput::CachedRelation> relations);

  // Adds a row, and offers it unless another one waits. Its values are copied; its relation must
  // outlive the queue. Errors: as for Turn(). REQUIRES: has_room().
  absl::Status Push(const OutboxRow& row);
  bool has_room() const;
  bool empty() const { return rows_.empty(); }
  // Whether every row was offered and accepted, or needs no record.
  bool all_offered() const { return next_ == first_ + rows_.size(); }

  // Takes the reports that have arrived, replaces a failed sink when that is due, and offers
  // rows that wait. Call it again when poll_fd() is readable or retry_at() has come. Errors: that
  // of a row whose policy is to stop, with its name; this row and those behind it are dropped, and
  // those before it continue. An error without a row's name: no sink can be created, which
  // every later call returns again.
  absl::Status Turn();

  const Counts& counts() const { return counts_; }
  // When the brokers last acknowledged a record, or the first row of an empty queue was added.
  MonoTime progress_at() const { return progress_at_; }
  // Why rows wait, as far as known; OK otherwise.
  absl::Status trouble() const;
  int poll_fd() const { return sink_.poll_fd(); }
  // When the next sink is due; nullopt while there is one.
  std::optional<MonoTime> retry_at() const { return sink_.retry_at(); }

 private:
  // A row from its Push() to its end.
  struct Entry {
    HeldRow row;
    RowState state;         // with a refusal, the row's record is a dead letter
    bool filtered = false;  // the filter was asked
    bool settled = false;   // acknowledged, skipped, or not wanted by the filter
  };

  RowQueue(const Config& config, Router router, SinkMaker make_sink, const Clock& clock,
           Metrics& metrics, Options options);

  // Offers rows until one waits. An error is that of the row, or of its topic.
  absl::Status OfferRows();
  absl::StatusOr<Wait> Offer(Entry& entry);
  absl::StatusOr<Offered> Send(Entry& entry, Record record);
  // The sink has failed with `error`, and all reports that can be expected have arrived: the next
  // one gets what was lost with it.
  void OnFailure(const absl::Status& error);
  // The row that is offered next, and all behind it, are not published.
  void DropUnoffered();
  void Settle(Entry& entry);
  void DropSettled();
  // The position of a row in the order of Push(): each is a transaction of its own.
  static Position PositionOf(uint64_t number) {
    return {.commit_lsn = Lsn(number + 1), .row_lsn = Lsn(number + 1), .index = 1};
  }
  absl::Status Named(const absl::Status& error, const OutboxRow& row) const;

  bool HasRoom() override { return true; }
  void OnGivenUp(const GivenUpRow& given_up) override;
  void OnDelivered(const Delivery& delivery) override;
  void OnFailed(const DeliveryFailure& report) override { sender_.OnFailed(report); }

  const Config& config_;
  Router router_;
  const Clock& clock_;
  const Options options_;
  AckTracker tracker_;
  ReplaceableSink sink_;
  RecordSender sender_;
  RowStep step_;
  absl::Status ended_;  // not OK: no sink could be created
  std::deque<Entry> rows_;
  uint64_t first_ = 0;    // the number of rows_.front()
  uint64_t next_ = 0;     // the number of the row that is offered next
  size_t row_bytes_ = 0;  // of rows_ that are not settled
  absl::Status trouble_;  // why the row that is offered is not accepted
  MonoTime progress_at_;
  std::vector<Header> headers_;  // of the record that is being offered
  Counts counts_;
};

}  // namespace walrelay
