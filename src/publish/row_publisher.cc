#include "publish/row_publisher.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "publish/row_errors.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kTurn{100};
// The rate is kept over this time, not from row to row: timers have the resolution of a
// millisecond.
constexpr std::chrono::milliseconds kRateSpan{50};
constexpr uint64_t kRowsBetweenReports = 64;
// librdkafka's minimum batch size, about.
constexpr int64_t kMinBatchBytes = 1024;

void PollFor(int fd, Micros timeout) {
  pollfd polled{fd, POLLIN, 0};
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  (void)::poll(&polled, fd < 0 ? 0 : 1, static_cast<int>(millis));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RowPublisher>> RowPublisher::Create(const Config& config,
                                                                   ProducerFactory make_producer,
                                                                   const Clock& clock,
                                                                   Options options) {
  WR_CHECK(options.on_refused != nullptr, "nothing is skipped silently");
  // No run id: it would identify a run of the relay, and differs at each start.
  WR_ASSIGN_OR_RETURN(Router router, Router::Create(config, /*run_id=*/""));
  if (options.wait == nullptr) {
    options.wait = PollFor;
  }
  if (options.policy == nullptr) {
    options.policy = [&config](const absl::Status& reason) {
      return PolicyFor(reason, config.on_error);
    };
  }
  std::unique_ptr<RowPublisher> publisher(new RowPublisher(
      config, std::move(router), std::move(make_producer), clock, std::move(options)));
  WR_RETURN_IF_ERROR(publisher->CreateProducer());
  return publisher;
}

RowPublisher::RowPublisher(const Config& config, Router router, ProducerFactory make_producer,
                           const Clock& clock, Options options)
    : config_(config),
      router_(std::move(router)),
      make_producer_(std::move(make_producer)),
      clock_(clock),
      options_(std::move(options)),
      step_(config, router_, options_.policy, *this),
      max_batch_bytes_(config.kafka.max_batch_bytes),
      progress_at_(clock.Now()) {}

RowPublisher::~RowPublisher() = default;

// The old one first, as the relay does: two would need the memory of two queues.
absl::Status RowPublisher::CreateProducer() {
  producer_.reset();
  failure_ = {};
  auto made = make_producer_({.max_batch_bytes = max_batch_bytes_,
                              .transactional_id = "",
                              .progress = {},
                              .commit_limit = Micros(0)});
  ended_ = made.status();
  if (made.ok()) {
    producer_ = *std::move(made);
  }
  return ended_;
}

bool RowPublisher::UseTables(std::span<const TableInfo> tables,
                             std::span<const pgoutput::CachedRelation> relations) {
  WR_CHECK(entries_.empty(), "rows in flight may be routed again");
  router_.StartSession(tables);
  return std::all_of(
      relations.begin(), relations.end(),
      [this](const pgoutput::CachedRelation& relation) { return router_.OnRelation(relation); });
}

absl::Status RowPublisher::Publish(const OutboxRow& row) {
  WR_RETURN_IF_ERROR(ended_);
  WR_RETURN_IF_ERROR(AwaitRate());
  WR_RETURN_IF_ERROR(AwaitRoom());
  if (entries_.empty()) {
    progress_at_ = clock_.Now();
  }
  entries_.push_back({.row = HeldRow(row), .state = {}});
  bytes_ += entries_.back().row.bytes();
  return Send(entries_.size() - 1);
}

absl::Status RowPublisher::Finish() {
  WR_RETURN_IF_ERROR(ended_);
  while (!entries_.empty()) {
    WR_RETURN_IF_ERROR(broken() ? Recover() : Turn(kTurn));
  }
  return absl::OkStatus();
}

// Recover() settles every row, also this one.
absl::Status RowPublisher::Send(size_t index) {
  const uint64_t number = first_ + index;
  while (number >= first_) {
    if (broken()) {
      return Recover();
    }
    const auto done = Offer(entries_[number - first_], number - first_);
    if (!done.ok() || *done) {
      DropSettled();
      return done.status();
    }
    WR_RETURN_IF_ERROR(Turn(kTurn));
  }
  return absl::OkStatus();
}

// The record is built at each attempt: its views are those of the router, which other rows use.
absl::StatusOr<bool> RowPublisher::Offer(Entry& entry, size_t index, const absl::Status& refusal) {
  const OutboxRow row = entry.row.row();
  entry.commit_time = row.commit_time.value_or(clock_.WallNow());
  offered_ = index;
  const OfferedRow offer{.relation = row.relation,
                         .values = row.values,
                         .commit_time = row.commit_time,
                         .position = {.row = {},
                                      .ordinal = 0,
                                      .xid = static_cast<uint32_t>(row.xid),
                                      .commit_time = entry.commit_time}};
  const auto send = [&](const Record& record) { return Produce(entry, index, record); };
  // A dead letter that cannot be published either: nothing is left to do with the row.
  const bool hopeless = !refusal.ok() && !entry.state.refusal.ok();
  const absl::StatusOr<Wait> wait = hopeless ? absl::StatusOr<Wait>(refusal)
                                    : refusal.ok()
                                        ? step_.Offer(offer, entry.state, send)
                                        : step_.GiveUp(offer, entry.state, refusal, send);
  if (wait.ok()) {
    trouble_ = *wait == Wait::kNone ? absl::OkStatus() : trouble_;
    return *wait == Wait::kNone;
  }
  const absl::Status error = Named(wait.status(), row);
  // The policy is to stop: the step keeps no refusal then. An error of a dead letter keeps it.
  const bool stops = !refusal.ok() && entry.state.refusal.ok();
  if (hopeless || stops || ScopeOf(error) == Scope::kRow) {
    AbandonFrom(index);
    return error;
  }
  trouble_ = error;  // the topic may be created meanwhile
  return false;
}

// The error of a producer that has failed is not about the record.
absl::StatusOr<Offered> RowPublisher::Produce(Entry& entry, size_t index, Record record) {
  if (entry.state.refusal.ok()) {
    if (options_.filter && !options_.filter(entry.row.row(), record)) {
      ++counts_.filtered;
      Settle(entry);
      return Offered::Stored();
    }
    if (!options_.topic.empty()) {
      record.topic = options_.topic;
    }
  }
  record = Decorated(record);
  const auto result = producer_->Produce(
      record, {.transaction = static_cast<uint32_t>(first_ + index), .ordinal = 1});
  if (result.ok() && result->handled()) {
    entry.bytes = record.window_bytes();
    entry.time = record.timestamp;
    bytes_ += entry.bytes;
  }
  return !result.ok() && broken() ? Wait::kQueue : result;
}

Record RowPublisher::Decorated(const Record& record) {
  headers_.assign(record.headers.begin(), record.headers.end());
  for (const auto& [name, value] : options_.headers) {
    headers_.push_back({name, value});
  }
  Record out = record;
  out.headers = headers_;
  return out;
}

void RowPublisher::OnGivenUp(const GivenUpRow& given_up) {
  const pgoutput::CachedRelation& relation = given_up.row.relation;
  const std::string table = fmt::format("{}.{}", relation.schema, relation.name);
  const std::string name = router_.Identify(relation.oid, given_up.row.values);
  options_.on_refused({.number = first_ + offered_,
                       .table = table,
                       .row = name,
                       .reason = given_up.reason,
                       .policy = given_up.policy});
  if (given_up.policy == OnError::kSkip) {
    ++counts_.skipped;
    Settle(entries_[offered_]);
  }
}

void RowPublisher::AbandonFrom(size_t index) {
  for (; index < entries_.size(); ++index) {
    WR_CHECK(entries_[index].settled || entries_[index].bytes == 0,
             "rows behind one that is offered are not in flight");
    if (!entries_[index].settled) {
      Settle(entries_[index]);
    }
  }
}

// The failed producer first reports its records in flight: some of them were acknowledged.
absl::Status RowPublisher::Recover() {
  producer_->AbandonUndelivered();
  producer_->Poll(*this);
  if (HasCode(failure_.cause, ErrorCode::kBatchTooLarge)) {
    max_batch_bytes_ = std::max(max_batch_bytes_ / 2, kMinBatchBytes);
  }
  const uint64_t end = first_ + entries_.size();
  for (uint64_t number = first_; number < end; ++number) {
    Entry& entry = entries_[number - first_];
    bytes_ -= entry.settled ? 0 : std::exchange(entry.bytes, 0);
  }
  WR_RETURN_IF_ERROR(CreateProducer());
  DropSettled();
  for (uint64_t number = first_; number < end; number = std::max(number + 1, first_)) {
    WR_RETURN_IF_ERROR(SendAlone(number));
    DropSettled();
  }
  return absl::OkStatus();
}

// A turn drops entries that are settled, this one as well.
absl::Status RowPublisher::SendAlone(uint64_t number) {
  while (number >= first_ && !entries_[number - first_].settled) {
    const size_t index = number - first_;
    Entry& entry = entries_[index];
    if (broken()) {
      WR_RETURN_IF_ERROR(ReplaceProducer(entry, index));
    } else if (entry.bytes == 0) {
      WR_ASSIGN_OR_RETURN(const bool offered, Offer(entry, index));
      WR_RETURN_IF_ERROR(offered ? absl::OkStatus() : Turn(kTurn));
    } else {
      WR_RETURN_IF_ERROR(Turn(kTurn));
    }
  }
  return absl::OkStatus();
}

// Only one record was in flight: a refusal is about its row. Any other failure is not, and the row
// is offered to the next producer, after a pause.
absl::Status RowPublisher::ReplaceProducer(Entry& entry, size_t index) {
  producer_->AbandonUndelivered();
  producer_->Poll(*this);
  const absl::Status cause = failure_.cause;
  const RefusedRecord refused{.bytes = entry.bytes - std::min(entry.bytes, Record::kOverheadBytes),
                              .time = entry.time,
                              .commit_time = entry.commit_time,
                              .now = clock_.WallNow()};
  bytes_ -= entry.settled ? 0 : std::exchange(entry.bytes, 0);
  if (cause.ok()) {
    WR_RETURN_IF_ERROR(CheckPatience());
    options_.wait(-1, kTurn);
  }
  WR_RETURN_IF_ERROR(CreateProducer());
  return cause.ok() || entry.settled ? absl::OkStatus()
                                     : Offer(entry, index, RowErrorOf(cause, refused)).status();
}

void RowPublisher::ReadReports() {
  producer_->Poll(*this);
  if (!broken()) {
    DropSettled();
  }
}

absl::Status RowPublisher::Turn(Micros timeout) {
  options_.wait(producer_->poll_fd(), std::min<Micros>(timeout, kTurn));
  ReadReports();
  if (options_.on_progress) {
    options_.on_progress(counts_);
  }
  return CheckPatience();
}

// The most specific reason that is known.
absl::Status RowPublisher::CheckPatience() const {
  if (entries_.empty() || clock_.Now() - progress_at_ < options_.patience) {
    return absl::OkStatus();
  }
  if (!trouble_.ok()) {
    return trouble_;
  }
  return !producer_->TransientError().ok()
             ? producer_->TransientError()
             : Error(ErrorCode::kKafkaStalled, fmt::format("no acknowledgement within {}",
                                                           FormatDuration(options_.patience)));
}

absl::Status RowPublisher::AwaitRoom() {
  while (!has_room()) {
    WR_RETURN_IF_ERROR(broken() ? Recover() : Turn(kTurn));
  }
  // Also while there is room, so that rows are not held for longer than needed.
  if ((first_ + entries_.size()) % kRowsBetweenReports == 0) {
    ReadReports();
  }
  return absl::OkStatus();
}

absl::Status RowPublisher::AwaitRate() {
  if (options_.rows_per_second == 0) {
    return absl::OkStatus();
  }
  while (next_due_ && clock_.Now() < *next_due_) {
    if (broken()) {
      WR_RETURN_IF_ERROR(Recover());
      continue;
    }
    WR_RETURN_IF_ERROR(Turn(*next_due_ - clock_.Now()));
  }
  const Micros interval(1'000'000 / options_.rows_per_second);
  next_due_ = std::max(next_due_.value_or(clock_.Now()), clock_.Now() - kRateSpan) + interval;
  return absl::OkStatus();
}

bool RowPublisher::has_room() const {
  return entries_.empty() ||
         (entries_.size() < static_cast<size_t>(config_.pipeline.max_in_flight_records) &&
          bytes_ < static_cast<size_t>(config_.pipeline.max_in_flight_bytes));
}

void RowPublisher::Settle(Entry& entry) {
  WR_CHECK(!entry.settled, "a row is settled once");
  entry.settled = true;
  bytes_ -= entry.row.bytes() + entry.bytes;
}

void RowPublisher::DropSettled() {
  while (!entries_.empty() && entries_.front().settled) {
    entries_.pop_front();
    ++first_;
  }
}

absl::Status RowPublisher::Named(const absl::Status& error, const OutboxRow& row) const {
  return Annotate(error,
                  fmt::format("row {} of {}.{}", router_.Identify(row.relation.oid, row.values),
                              row.relation.schema, row.relation.name));
}

// A token has the low half of the row's number: fewer rows are in flight.
void RowPublisher::OnDelivered(const Delivery& delivery) {
  const uint32_t index = delivery.token.transaction - static_cast<uint32_t>(first_);
  WR_CHECK(index < entries_.size(), "a record is of a row that is held");
  Entry& entry = entries_[index];
  progress_at_ = clock_.Now();
  if (!entry.state.refusal.ok()) {
    ++counts_.dead_letters;
  } else {
    ++counts_.published;
    if (options_.on_published) {
      options_.on_published(first_ + index);
    }
  }
  Settle(entry);
}

// A purged record, and one whose producer failed, was never judged by a broker.
void RowPublisher::OnFailed(const DeliveryFailure& report) {
  failure_.any = true;
  if (failure_.cause.ok() && !report.purged && ScopeOf(report.error) != Scope::kProducer) {
    failure_.cause = report.error;
  }
}

}  // namespace walrelay
