#include "publish/row_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/check.h"
#include "publish/row_errors.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {

absl::StatusOr<std::unique_ptr<RowQueue>> RowQueue::Create(const Config& config,
                                                           SinkMaker make_sink, const Clock& clock,
                                                           Metrics& metrics, Options options) {
  WR_CHECK(options.on_refused != nullptr, "nothing is skipped silently");
  // No run id: it would identify a run of the relay, and differs at each start.
  WR_ASSIGN_OR_RETURN(Router router, Router::Create(config, /*run_id=*/""));
  if (options.policy == nullptr) {
    options.policy = [&config](const absl::Status& reason) {
      return PolicyFor(reason, config.on_error);
    };
  }
  std::unique_ptr<RowQueue> queue(new RowQueue(config, std::move(router), std::move(make_sink),
                                               clock, metrics, std::move(options)));
  WR_RETURN_IF_ERROR(queue->sink_.Create());
  return queue;
}

RowQueue::RowQueue(const Config& config, Router router, SinkMaker make_sink, const Clock& clock,
                   Metrics& metrics, Options options)
    : config_(config),
      router_(std::move(router)),
      clock_(clock),
      options_(std::move(options)),
      sink_({.make = std::move(make_sink),
             .max_batch_bytes = config.limits().max_batch_bytes,
             .clock = clock,
             .metrics = metrics,
             .seed = std::random_device()()}),
      sender_(sink_, tracker_, metrics, clock, /*observer=*/nullptr),
      step_(config, router_, options_.policy, *this, metrics),
      progress_at_(clock.Now()) {
  tracker_.Restart(PositionOf(0).commit_lsn);
}

bool RowQueue::UseTables(std::span<const TableInfo> tables,
                         std::span<const pgoutput::CachedRelation> relations) {
  WR_CHECK(empty(), "rows in flight may be routed again");
  router_.StartSession(tables);
  return std::all_of(
      relations.begin(), relations.end(),
      [this](const pgoutput::CachedRelation& relation) { return router_.OnRelation(relation); });
}

absl::Status RowQueue::Push(const OutboxRow& row) {
  WR_RETURN_IF_ERROR(ended_);
  WR_CHECK(has_room(), "the window limits the rows that are held");
  const bool alone = all_offered();
  if (empty()) {
    progress_at_ = clock_.Now();
  }
  rows_.push_back({.row = HeldRow(row), .state = {}});
  row_bytes_ += rows_.back().row.bytes();
  const absl::Status offered = alone ? OfferRows() : absl::OkStatus();
  DropSettled();
  return offered;
}

bool RowQueue::has_room() const {
  return empty() || (rows_.size() < static_cast<size_t>(config_.pipeline.max_in_flight_records) &&
                     row_bytes_ + tracker_.bytes_in_flight() <
                         static_cast<size_t>(config_.pipeline.max_in_flight_bytes));
}

absl::Status RowQueue::Turn() {
  WR_RETURN_IF_ERROR(ended_);
  ended_ = sink_.CreateIfDue(clock_.Now());
  WR_RETURN_IF_ERROR(ended_);
  sink_.Poll(*this);
  const absl::Status& named = sender_.failed().cause;
  if (const absl::Status error = named.ok() ? sink_.FatalError() : named; !error.ok()) {
    if (sink_.AwaitReports(sender_.AllHaveFailed(), clock_.Now())) {
      return absl::OkStatus();
    }
    OnFailure(error);
  }
  const absl::Status offered = OfferRows();
  DropSettled();
  return offered;
}

// A broker's refusal marks the start of the rows to be sent alone. Without one (a fenced sink
// id, an expired sequence) no row is to blame, and all are sent as before.
void RowQueue::OnFailure(const absl::Status& error) {
  const bool lost = tracker_.records_in_flight() > 0;
  const bool of_the_rows = ScopeOf(error) != Scope::kProducer;
  if (const auto refused = sender_.failed().first_refused; lost && of_the_rows && refused) {
    sender_.StepThrough(*refused);
  }
  if (HasCode(error, ErrorCode::kBatchTooLarge)) {
    if (lost) {
      sink_.ShrinkBatches();
    } else {
      sink_.ResetBatches();  // a single record was refused, sent alone
    }
  }
  sender_.OnSinkDestroyed();
  if (lost) {
    tracker_.Reset();
    sender_.EndSession(std::nullopt);
    next_ = first_;
  }
  const MonoTime now = clock_.Now();
  sink_.Retire(error, of_the_rows ? now : now + sink_.NextPause());
}

// A row that was settled before its sink failed is not offered again.
absl::Status RowQueue::OfferRows() {
  while (!all_offered()) {
    Entry& entry = rows_[next_ - first_];
    if (entry.settled && !tracker_.in_transaction()) {
      ++next_;
      continue;
    }
    const absl::StatusOr<Wait> wait = Offer(entry);
    if (!wait.ok()) {
      trouble_ = Named(wait.status(), entry.row.row());
      if (ScopeOf(trouble_) != Scope::kRow) {
        return absl::OkStatus();  // the topic may be created meanwhile
      }
      DropUnoffered();
      return std::exchange(trouble_, absl::OkStatus());
    }
    if (*wait != Wait::kNone) {
      return absl::OkStatus();
    }
    trouble_ = absl::OkStatus();
    tracker_.Commit(PositionOf(next_ + 1).commit_lsn);
    ++next_;
  }
  return absl::OkStatus();
}

// The record is built at each attempt: its views are those of the router, which other rows use.
absl::StatusOr<Wait> RowQueue::Offer(Entry& entry) {
  const OutboxRow row = entry.row.row();
  if (!tracker_.in_transaction()) {
    tracker_.Begin(PositionOf(next_).commit_lsn, static_cast<uint32_t>(row.xid),
                   row.commit_time.value_or(clock_.WallNow()));
  }
  return step_.Offer({.relation = row.relation,
                      .values = row.values,
                      .commit_time = row.commit_time,
                      .position = {.row = {},
                                   .ordinal = 0,
                                   .xid = static_cast<uint32_t>(row.xid),
                                   .commit_time = tracker_.open_transaction().commit_time}},
                     entry.state, [&](const Record& record) { return Send(entry, record); });
}

// The error of a sink that has failed is not about the record.
absl::StatusOr<Offered> RowQueue::Send(Entry& entry, Record record) {
  if (entry.state.refusal.ok()) {
    if (!std::exchange(entry.filtered, true) && options_.filter &&
        !options_.filter(entry.row.row(), record)) {
      ++counts_.filtered;
      Settle(entry);
      return Offered::Stored();
    }
    if (!options_.topic.empty()) {
      record.topic = options_.topic;
    }
  }
  headers_.assign(record.headers.begin(), record.headers.end());
  for (const auto& [name, value] : options_.headers) {
    headers_.push_back({name, value});
  }
  record.headers = headers_;
  const auto offered = sender_.Send(record, PositionOf(next_));
  return !offered.ok() && !sink_.FatalError().ok() ? Wait::kQueue : offered;
}

void RowQueue::OnGivenUp(const GivenUpRow& given_up) {
  const pgoutput::CachedRelation& relation = given_up.row.relation;
  const std::string table = fmt::format("{}.{}", relation.schema, relation.name);
  const std::string name = router_.Identify(relation.oid, given_up.row.values);
  options_.on_refused({.number = next_,
                       .table = table,
                       .row = name,
                       .reason = given_up.reason,
                       .policy = given_up.policy});
  if (given_up.policy == OnError::kSkip) {
    ++counts_.skipped;
    Settle(rows_[next_ - first_]);
  }
}

void RowQueue::OnDelivered(const Delivery& delivery) {
  const std::optional<Position> position = tracker_.PositionOf(delivery.token);
  WR_CHECK(position.has_value(), "a record is of a row that is held");
  const uint64_t number = position->commit_lsn.value() - 1;
  WR_CHECK(number - first_ < rows_.size(), "a record is of a row that is held");
  sender_.OnDelivered(delivery);
  sink_.ResetBackoff();
  progress_at_ = clock_.Now();
  Entry& entry = rows_[number - first_];
  if (!entry.state.refusal.ok()) {
    ++counts_.dead_letters;
  } else {
    ++counts_.published;
    if (options_.on_published) {
      options_.on_published(number);
    }
  }
  Settle(entry);
}

void RowQueue::DropUnoffered() {
  WR_CHECK(!sender_.AwaitsReport(), "a row that is dropped is not in flight");
  for (size_t i = next_ - first_; i < rows_.size(); ++i) {
    if (!rows_[i].settled) {
      Settle(rows_[i]);
    }
  }
  tracker_.Commit(PositionOf(next_ + 1).commit_lsn);
  next_ = first_ + rows_.size();
}

void RowQueue::Settle(Entry& entry) {
  WR_CHECK(!entry.settled, "a row is settled once");
  entry.settled = true;
  row_bytes_ -= entry.row.bytes();
}

// The row that is offered next stays: its sender has not seen the end of it.
void RowQueue::DropSettled() {
  while (first_ < next_ && rows_.front().settled) {
    rows_.pop_front();
    ++first_;
  }
}

absl::Status RowQueue::trouble() const {
  return trouble_.ok() ? sink_.health().trouble : trouble_;
}

absl::Status RowQueue::Named(const absl::Status& error, const OutboxRow& row) const {
  return Annotate(error,
                  fmt::format("row {} of {}.{}", router_.Identify(row.relation.oid, row.values),
                              row.relation.schema, row.relation.name));
}

}  // namespace walrelay
