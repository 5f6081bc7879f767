#include "cli/row_run.h"

#include <fmt/format.h>

#include <memory>

#include "base/system_clock.h"
#include "base/text.h"
#include "dryrun/record_printer.h"
#include "walrelay/config/route.h"
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

SinkMaker PrintingSinks(bool json) {
  return [json](const SinkRequest&) {
    return absl::StatusOr<std::unique_ptr<Sink>>(std::make_unique<RecordPrinter>(json));
  };
}

absl::Status CheckDeletion(const RouteConfig& route, SinkFactory& sinks, bool accept,
                           const Clock& clock,
                           const std::function<absl::StatusOr<RecordAges>()>& read_ages) {
  if (route.timestamp == TimestampSource::kNow) {
    return absl::OkStatus();
  }
  WR_ASSIGN_OR_RETURN(const RecordAges ages, read_ages());
  const auto deleted = ReadDeletedAtOnce(sinks, ages, clock.WallNow());
  absl::Status found = deleted.status();
  if (deleted.ok() && !deleted->empty()) {
    std::string text;
    for (const DeletedAtOnce& each : *deleted) {
      text += (text.empty() ? "" : "; ") + Describe(each);
    }
    found = Error(ErrorCode::kKeptTooShortly, text);
  }
  if (!accept || !HasCode(found, ErrorCode::kKeptTooShortly)) {
    return found;
  }
  fmt::print(stderr, "walrelay: warning: Kafka deletes records soon after they are published: {}\n",
             MessageOf(found));
  return absl::OkStatus();
}

void AddAcceptDeletionFlag(FlagSet& set, bool& accept) {
  set.Add("--accept-deletion", accept,
          "Also publish records that are older than their topic keeps records: Kafka deletes these "
          "soon after they are published");
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
