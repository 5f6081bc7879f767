#include "recover/recover_report.h"

#include <fmt/format.h>

#include <numeric>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/text.h"
#include "stream/progress_record.h"
#include "walrelay/config/source.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

std::string Count(uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string ProblemText(const absl::Status& problem) {
  return problem.ok() ? "works"
                      : fmt::format("{}: {}", ToString(CodeOf(problem)), MessageOf(problem));
}

std::string RecordText(const RecoverEvidence& evidence) {
  if (!evidence.record) {
    return "none";
  }
  const Progress& record = *evidence.record;
  return fmt::format("everything before {} is published; system {}, timeline {}, written {}",
                     record.frontier.ToString(), record.system_id, record.timeline,
                     Rfc3339(record.written));
}

std::string ProofText(const RecoveryScope& scope) {
  return scope.proven
             ? fmt::format("rows with xmin from {} and before {}, as of {}", scope.proven->from.xid,
                           scope.proven->before, Rfc3339(scope.proven->as_of))
             : "nothing";
}

std::string RowsText(const RowsToRecover& rows) {
  switch (rows.since) {
    case RowsSince::kHorizon:
      return fmt::format("with xmin {} or greater", rows.from_xid);
    case RowsSince::kTime:
      return fmt::format("since {}", Rfc3339(rows.time));
    case RowsSince::kId:
      return fmt::format("with an id greater than {}", rows.after_id);
    case RowsSince::kAll:
      break;
  }
  return "all";
}

std::string OrderText(const RecoverPlan& plan) {
  switch (plan.rows.order.value_or(RowOrder::kCommitTime)) {
    case RowOrder::kCommitTime:
      return "by commit time";
    case RowOrder::kColumn:
      return fmt::format("by column {}", plan.scope.rows.order_by);
    case RowOrder::kId:
      return "by id, which is not always the order of the commits";
    case RowOrder::kXid:
      break;
  }
  return "by transaction id, which is not always the order of the commits";
}

std::string ComparedText(const RecoverPlan& plan) {
  if (!plan.options.compare) {
    return "no: rows that are published already are published again";
  }
  return fmt::format(
      "{} since {}, {} of them of these rows", Count(plan.compared.records, "record"),
      plan.scope.compare_since ? Rfc3339(*plan.scope.compare_since) : "the beginning of the topics",
      plan.rows.found);
}

// The warnings for an operator who may apply the plan; each is a whole sentence.
std::vector<std::string> Warnings(const SourceConfig& source, const RecoverPlan& plan) {
  std::vector<std::string> warnings;
  const ComparedRecords& compared = plan.compared;
  if (plan.exceeds_limit()) {
    warnings.push_back(
        fmt::format("The plan has more rows than --max-rows {} allows, and cannot "
                    "be applied.",
                    plan.options.max_rows));
  }
  for (const std::string& doubt : compared.doubts) {
    warnings.push_back(fmt::format("Records do not count as published: {}.", doubt));
  }
  for (const DeletedAtOnce& deleted : plan.deleted) {
    warnings.push_back(fmt::format(
        "{}. Kafka deletes them soon after they are published. Raise the topic's retention.ms "
        "until "
        "consumers have read them, or set route.timestamp = \"now\".{}",
        Describe(deleted),
        plan.publishes_for_deletion() ? " Without --accept-deletion the plan cannot be applied."
                                      : ""));
  }
  if (!plan.retention.ok()) {
    warnings.push_back(fmt::format("It is not known whether Kafka keeps the records: {}",
                                   MessageOf(plan.retention)));
  }
  if (compared.over_limit > 0) {
    warnings.push_back(
        fmt::format("{} of the topics are over the limit and not compared: their "
                    "rows are published again.",
                    Count(compared.over_limit, "record")));
  }
  if (plan.scope.compares_too_little && plan.options.compare) {
    warnings.emplace_back(
        "A transaction was open for all the time that the record covers: rows "
        "may have been published before the topics are compared, and are then "
        "published again. To compare more: --compare-since TIME.");
  }
  if (compared.overtaken > 0) {
    warnings.push_back(
        fmt::format("{} in Kafka come from rows behind a missing row of the same "
                    "key: that row is published late.",
                    Count(compared.overtaken, "record")));
  }
  if (plan.scope.rows.since != RowsSince::kHorizon && plan.scope.proven) {
    warnings.push_back(
        fmt::format("The rows were chosen by the operator. The progress record "
                    "proves less: rows with xmin {} or greater that are not among "
                    "them are not published.",
                    plan.scope.proven->before));
  }
  if (plan.scope.keeps_slot) {
    warnings.emplace_back(
        "The slot is kept, with the events that it has not streamed yet: the relay publishes those "
        "again that are among these rows.");
  }
  if (plan.rows.origins_unknown) {
    warnings.emplace_back(
        "The tables do not show which rows have another origin: source.origin \"none\" does not "
        "apply to these rows.");
  }
  if (plan.evidence.deleted_rows > 0) {
    warnings.push_back(fmt::format(
        "Rows deleted from the outbox tables since their statistics were reset: {}. Those that "
        "were not published cannot be recovered.",
        plan.evidence.deleted_rows));
  }
  if (!source.message_prefixes.empty()) {
    warnings.emplace_back(
        "Logical messages are in no table: those that were not published cannot "
        "be recovered.");
  }
  return warnings;
}

void AddLine(std::string& out, std::string_view label, std::string_view text) {
  out += fmt::format("{:<12} {}\n", label, Printable(text));
}

std::string JsonOfText(const std::string& text) {
  return JsonText(text);
}

std::string_view NameOf(RowsSince since) {
  switch (since) {
    case RowsSince::kHorizon:
      return "horizon";
    case RowsSince::kTime:
      return "time";
    case RowsSince::kId:
      return "id";
    case RowsSince::kAll:
      break;
  }
  return "all";
}

}  // namespace

std::string PlanText(const SourceConfig& source, const RecoverPlan& plan) {
  std::string out;
  const RecoveredRows& rows = plan.rows;
  AddLine(out, "slot", fmt::format("{}: {}", source.slot, ProblemText(plan.scope.problem)));
  AddLine(out, "record", RecordText(plan.evidence));
  AddLine(out, "published", fmt::format("for certain: {}", ProofText(plan.scope)));
  AddLine(out, "rows", fmt::format("{} {}", rows.rows, RowsText(plan.scope.rows)));
  AddLine(out, "in Kafka", ComparedText(plan));
  AddLine(out, "to publish",
          fmt::format("{}, {}", Count(rows.published, "record"), OrderText(plan)));
  if (rows.dead_letters + rows.skipped > 0) {
    AddLine(
        out, "on_error",
        fmt::format("{} dead-lettered, {} skipped", Count(rows.dead_letters, "row"), rows.skipped));
  }
  if (!plan.scope.keeps_slot) {
    AddLine(out, "new slot", plan.scope.failover ? "with failover" : "without failover");
  }
  for (const std::string& warning : Warnings(source, plan)) {
    AddLine(out, "warning", warning);
  }
  AddLine(out, "plan", plan.id);
  return out;
}

std::string PlanJson(const SourceConfig& source, const std::optional<RecoverPlan>& plan) {
  JsonObject out;
  out.Add("slot", source.slot);
  if (!plan) {
    out.Raw("plan", "null");
    return std::move(out).Finish() + "\n";
  }
  out.Add("plan", plan->id);
  const absl::Status& problem = plan->scope.problem;
  out.Add("code", problem.ok() ? "" : ToString(CodeOf(problem)));
  out.Add("problem", problem.ok() ? "" : Printable(MessageOf(problem)));
  out.Add("keeps_slot", plan->scope.keeps_slot);
  out.Add("system_id", plan->evidence.info.server.system_id);
  out.Add("timeline", plan->evidence.info.server.timeline);
  if (plan->scope.proven) {
    out.Add("published_from_xid", plan->scope.proven->from.xid);
    out.Add("published_before_xid", plan->scope.proven->before);
    out.Add("published_as_of", plan->scope.proven->as_of);
  }
  out.Add("rows_since", NameOf(plan->scope.rows.since));
  out.Add("rows", plan->rows.rows);
  out.Add("found", plan->rows.found);
  out.Add("to_publish", plan->rows.published);
  out.Add("dead_letters", plan->rows.dead_letters);
  out.Add("skipped", plan->rows.skipped);
  out.Add("compared", plan->compared.records);
  out.Add("over_limit", plan->compared.over_limit);
  out.Add("overtaken", plan->compared.overtaken);
  out.Add("deleted_at_once",
          std::accumulate(
              plan->deleted.begin(), plan->deleted.end(), uint64_t{0},
              [](uint64_t sum, const DeletedAtOnce& deleted) { return sum + deleted.records; }));
  out.Add("deleted_rows", plan->evidence.deleted_rows);
  out.Add("failover", plan->scope.failover);
  out.Raw("warnings", JsonArray(Warnings(source, *plan), JsonOfText));
  return std::move(out).Finish() + "\n";
}

}  // namespace walrelay
