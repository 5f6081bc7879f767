#include "publish/row_publisher.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::milliseconds kTurn{100};
// The rate is kept over this time, not from row to row: timers have the resolution of a
// millisecond.
constexpr std::chrono::milliseconds kRateSpan{50};

constexpr uint64_t kRowsBetweenReports = 64;

void PollFor(int fd, Micros timeout) {
  pollfd polled{fd, POLLIN, 0};
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  (void)::poll(&polled, fd < 0 ? 0 : 1, static_cast<int>(millis));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RowPublisher>> RowPublisher::Create(const Config& config,
                                                                   SinkMaker make_sink,
                                                                   const Clock& clock,
                                                                   Options options) {
  if (options.wait == nullptr) {
    options.wait = PollFor;
  }
  std::unique_ptr<RowPublisher> publisher(new RowPublisher(clock, options));
  WR_ASSIGN_OR_RETURN(publisher->queue_, RowQueue::Create(config, std::move(make_sink), clock,
                                                          publisher->metrics_, std::move(options)));
  return publisher;
}

RowPublisher::RowPublisher(const Clock& clock, const Options& options)
    : clock_(clock), options_(options), metrics_(registry_, PipelineIdentity()) {}

absl::Status RowPublisher::Publish(const OutboxRow& row) {
  WR_RETURN_IF_ERROR(AwaitRate());
  while (!queue_->has_room()) {
    WR_RETURN_IF_ERROR(Turn(kTurn));
  }
  WR_RETURN_IF_ERROR(queue_->Push(row));
  while (!queue_->all_offered()) {
    WR_RETURN_IF_ERROR(Turn(kTurn));
  }
  // Also while there is room, so that rows are not held for longer than needed.
  return ++rows_ % kRowsBetweenReports == 0 ? queue_->Turn() : absl::OkStatus();
}

absl::Status RowPublisher::Finish() {
  WR_RETURN_IF_ERROR(queue_->Turn());
  while (!queue_->empty()) {
    WR_RETURN_IF_ERROR(Turn(kTurn));
  }
  return absl::OkStatus();
}

absl::Status RowPublisher::Turn(Micros timeout) {
  const auto retry_at = queue_->retry_at();
  const Micros pause = std::min<Micros>(retry_at ? *retry_at - clock_.Now() : timeout, kTurn);
  options_.wait(queue_->poll_fd(), std::max(pause, Micros(0)));
  WR_RETURN_IF_ERROR(queue_->Turn());
  if (options_.on_progress) {
    options_.on_progress(counts());
  }
  return CheckPatience();
}

// The most specific reason that is known.
absl::Status RowPublisher::CheckPatience() const {
  if (queue_->empty() || clock_.Now() - queue_->progress_at() < options_.patience) {
    return absl::OkStatus();
  }
  const absl::Status trouble = queue_->trouble();
  return !trouble.ok()
             ? trouble
             : Error(ErrorCode::kKafkaStalled, fmt::format("no acknowledgement within {}",
                                                           FormatDuration(options_.patience)));
}

absl::Status RowPublisher::AwaitRate() {
  if (options_.rows_per_second == 0) {
    return absl::OkStatus();
  }
  while (next_due_ && clock_.Now() < *next_due_) {
    WR_RETURN_IF_ERROR(Turn(*next_due_ - clock_.Now()));
  }
  const Micros interval(1'000'000 / options_.rows_per_second);
  next_due_ = std::max(next_due_.value_or(clock_.Now()), clock_.Now() - kRateSpan) + interval;
  return absl::OkStatus();
}

}  // namespace walrelay
