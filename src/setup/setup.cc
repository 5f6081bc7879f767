#include "setup/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/quote.h"
#include "base/text.h"
#include "setup/setup_statements.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// A lock that another session holds on a table delays setup, but not for long.
constexpr std::chrono::seconds kUndoTimeout{30};
// Creating a logical slot waits until all transactions that are running at that moment have ended.
constexpr std::chrono::seconds kStepTimeout{60};

// Whether a step that this one needs was not executed.
bool NeedsMissing(const SetupStep& step, const SetupOutcome& outcome) {
  return std::any_of(outcome.missing.begin(), outcome.missing.end(), [&](const SetupStep& each) {
    return std::find(step.needs.begin(), step.needs.end(), each.what) != step.needs.end();
  });
}

}  // namespace

absl::StatusOr<SetupOutcome> ExecuteSetup(PgConnection& connection, const SetupPlan& plan) {
  SetupOutcome outcome;
  for (const SetupStep& step : plan.steps) {
    if (NeedsMissing(step, outcome)) {
      outcome.missing.push_back(step);
      outcome.reasons.emplace_back();
      continue;
    }
    const absl::Status status = connection.Query(step.sql, kStepTimeout).status();
    // A superuser lacks no privilege: then the server refuses something else, and says what.
    const bool superuser = connection.ReportedSetting("is_superuser") == "on";
    if (!superuser && (HasCode(status, ErrorCode::kNoReplicationRole) ||
                       HasCode(status, ErrorCode::kPermissionDenied))) {
      outcome.missing.push_back(step);
      outcome.reasons.push_back(MessageOf(status));
      continue;
    }
    WR_RETURN_IF_ERROR(Annotate(status, step.what));
    outcome.done.push_back(step);
  }
  return outcome;
}

std::string MissingScript(const SetupOutcome& outcome, const Platform& platform,
                          std::string_view role, std::string_view database) {
  std::string out = fmt::format(
      "-- Missing: role {} lacks the privilege for the following statements.\n"
      "-- Run them in database {}, in this order, as {}.\n\n{}\n",
      Printable(role), Printable(database), platform.administrator, kSetEncoding);
  for (size_t i = 0; i < outcome.missing.size(); ++i) {
    const SetupStep& step = outcome.missing[i];
    const std::string& reason = outcome.reasons[i];
    out += fmt::format("\n-- {}{}{}\n{}\n", Printable(step.what), reason.empty() ? "" : ": ",
                       Printable(reason), step.sql);
  }
  return out;
}

// The slot first: without it no WAL is retained, even if the second statement fails.
absl::Status UndoSetup(PgConnection& connection, const SourceConfig& source) {
  WR_RETURN_IF_ERROR(connection
                         .Query(fmt::format("SELECT pg_catalog.pg_drop_replication_slot(slot_name) "
                                            "FROM pg_catalog.pg_replication_slots "
                                            "WHERE slot_name OPERATOR(pg_catalog.=) {}",
                                            QuoteLiteral(source.slot)),
                                kUndoTimeout)
                         .status());
  return connection
      .Query(fmt::format("DROP PUBLICATION IF EXISTS {}", QuoteIdentifier(source.publication)),
             kUndoTimeout)
      .status();
}

}  // namespace walrelay
