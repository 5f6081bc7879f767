#include "cli/row_run.h"

#include <fmt/format.h>

#include "base/system_clock.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::chrono::seconds kBetweenLines{5};

}  // namespace

std::string Describe(const RowPublisher::Counts& counts) {
  std::string out = fmt::format("{} published", counts.published);
  if (counts.skipped > 0) {
    out += fmt::format(", {} skipped", counts.skipped);
  }
  if (counts.dead_letters > 0) {
    out += fmt::format(", {} sent to the dead-letter topic", counts.dead_letters);
  }
  return out;
}

RowPublisher::Options RowRun::options() {
  RowPublisher::Options options;
  options.on_refused = [](const RowPublisher::Refusal& refusal) {
    fmt::print(stderr, "{} {} of {}: {} {}\n",
               refusal.policy == OnError::kDeadLetter ? "dead letter: row" : "skipped: row",
               refusal.row, refusal.table, ToString(CodeOf(refusal.reason)),
               Printable(MessageOf(refusal.reason)));
  };
  options.on_progress = [this](const RowPublisher::Counts& counts) {
    const MonoTime now = SystemClock().Now();
    if (!printed_at_) {
      printed_at_ = now;
    } else if (now - *printed_at_ >= kBetweenLines) {
      printed_at_ = now;
      fmt::print(stderr, "{} of {} rows\n", counts.published, rows_);
    }
  };
  return options;
}

absl::Status RowRun::Publish(
    RowPublisher& publisher,
    const std::function<absl::StatusOr<std::optional<OutboxRow>>()>& next) {
  absl::Status result;
  while (result.ok()) {
    const auto row = next();
    if (!row.ok() || !*row) {
      result = row.status();
      break;
    }
    result = publisher.Publish(**row);
  }
  const absl::Status finished = publisher.Finish();
  return result.ok() ? finished : result;
}

}  // namespace walrelay
