#include "admin/gap_control.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "status/status_notifier.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr std::string_view kAccept = "accept ";

std::string NoGap(const RelayStatus& status) {
  return fmt::format("none\nNo gap is held. The relay: {}.\n", StatusLine(status));
}

// REQUIRES: a gap is held.
std::string Answer(std::string_view word, const RelayStatus& status) {
  WR_CHECK(status.gap.has_value(), "a gap is held");
  return fmt::format("{} {} {}{}{}\n{}  waits for:     {}\n", word, status.gap->id,
                     status.gap_checks, status.accepted_gap.empty() ? "" : " ", status.accepted_gap,
                     DescribeGap(*status.gap), status.waits_for);
}

// A transaction that cannot be read is shown and accepted as a gap is.
RelayStatus WithGap(RelayStatus status) {
  status.gap = status.gap ? status.gap : status.stuck;
  return status;
}

std::string GapReport(const RelayStatus& status) {
  if (!status.gap) {
    return NoGap(status);
  }
  return Answer(status.gap_error.ok() ? "held" : "blocked", status);
}

}  // namespace

// The id in the request decides: the gap may have changed since the operator read it.
std::string AnswerControl(std::string_view request, const StatusBoard& board,
                          const std::function<void(std::string)>& accept) {
  const RelayStatus status = WithGap(board.Read());
  if (request == "show") {
    return GapReport(status);
  }
  // An answer and not a closed connection: a newer command can tell that the relay is older.
  if (!request.starts_with(kAccept)) {
    return "unknown\nThis version of walrelay does not support this request.\n";
  }
  if (!status.gap) {
    return NoGap(status);
  }
  if (status.gap->id != request.substr(kAccept.size())) {
    return Answer("other", status);
  }
  // Takes effect on the relay's thread; the answer only says that it was requested.
  accept(status.gap->id);
  return Answer("accepting", status);
}

std::string DescribeGap(const Gap& gap) {
  return fmt::format("gap {}\n{}\n  where:         {}\n", gap.id, Explain(gap.error), RangeOf(gap));
}

}  // namespace walrelay
