// The status report as JSON, as specified by proto/walrelay/admin/v1/status.proto.
//
// Generated without protobuf: its JSON support needs the full runtime, which is three megabytes,
// and writes 64-bit numbers as strings. Tests parse the output with the generated type.

#include <fmt/format.h>

#include "base/json_writer.h"
#include "config/choices.h"
#include "outbox/table_health.h"
#include "slot/slot_risk_classifier.h"
#include "status/status_report.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Durations are seconds, as in Prometheus.
double SecondsOf(Micros time) {
  return std::chrono::duration<double>(time).count();
}

std::optional<double> SecondsOf(const std::optional<Micros>& time) {
  return time ? std::optional(SecondsOf(*time)) : std::nullopt;
}

std::string RelayJson(const RelayStatus& relay) {
  JsonObject out;
  out.Add("state", NameOf(relay.state));
  out.Add("since", relay.since);
  out.AddText("waits_for", relay.waits_for);
  out.Add("events_acknowledged", relay.figures.acknowledged);
  out.Add("records_in_flight", relay.figures.records_in_flight);
  out.Add("bytes_in_flight", relay.figures.bytes_in_flight);
  out.Add("transactions_in_flight", relay.figures.transactions_in_flight);
  out.Add("oldest_unacknowledged", relay.figures.oldest_commit);
  out.Add("cut_off_since", relay.figures.cut_off_since);
  out.Add("last_acknowledged", relay.figures.last_acknowledged);
  if (relay.figures.incoming_bytes > 0) {
    out.Add("incoming_bytes", relay.figures.incoming_bytes);
  }
  out.Add("skipped_origin_rows", relay.figures.skipped_origin_rows);
  out.Add("received_lsn", relay.figures.received.ToString());
  out.Add("flushed_lsn", relay.figures.frontier.ToString());
  return std::move(out).Finish();
}

std::string HolderJson(const SlotSample& slot) {
  JsonObject out;
  // A prepared transaction has no process: the member is absent, because 0 is not a process id.
  if (slot.held_by->pid != 0) {
    out.Add("pid", slot.held_by->pid);
  }
  out.AddText("prepared_as", slot.held_by->prepared_as);
  out.AddText("user", slot.held_by->user);
  out.AddText("application", slot.held_by->application);
  out.AddText("database", slot.held_by->database);
  out.Add("age_seconds", SecondsOf(slot.held_by->age));
  out.Add("held_bytes", slot.held_bytes());
  return std::move(out).Finish();
}

std::string SlotJson(const SlotSample& slot) {
  JsonObject out;
  out.Add("exists", slot.exists);
  // Positions and sizes of a slot that does not exist would be zeros that look like measurements.
  if (!slot.exists) {
    return std::move(out).Finish();
  }
  out.Add("taken", slot.taken);
  out.Add("active", slot.row.active);
  if (slot.row.active) {
    out.Add("active_pid", slot.row.active_pid);
  }
  out.Add("wal_lsn", slot.wal_end.ToString());
  out.Add("confirmed_flush_lsn", slot.row.confirmed_flush_lsn.ToString());
  out.Add("restart_lsn", slot.row.restart_lsn.ToString());
  out.Add("lag_bytes", slot.lag_bytes());
  out.Add("lag_seconds", SecondsOf(slot.lag_age));
  out.Add("retained_bytes", slot.retained_bytes());
  // -1 stands for "no limit" in Postgres, and for an absent member here.
  if (slot.max_retained_bytes >= 0) {
    out.Add("max_retained_bytes", slot.max_retained_bytes);
  }
  out.Add("safe_bytes", slot.row.safe_wal_size);
  if (slot.budget) {
    out.Add("budget_bytes", slot.budget->bytes);
    out.Add("budget_drops_slot", slot.budget->drop_slot);
  }
  out.AddText("wal_status", slot.row.wal_status);
  out.AddText("invalidation_reason", slot.row.invalidation_reason);
  out.Add("inactive_since", slot.row.inactive_since);
  out.Add("wal_bytes_per_second", slot.wal_bytes_per_second);
  out.Add("seconds_to_loss", SecondsOf(slot.time_to_loss));
  out.Add("seconds_until_caught_up", SecondsOf(slot.time_until_caught_up));
  out.Add("risk", NameOf(slot.risk));
  if (slot.held_by) {
    out.Raw("held_by", HolderJson(slot));
  }
  if (slot.spill) {
    out.Add("spilled_transactions", slot.spill->spilled_transactions);
    out.Add("spilled_bytes", slot.spill->spilled_bytes);
    out.Add("decoded_bytes", slot.spill->decoded_bytes);
  }
  return std::move(out).Finish();
}

std::string GapJson(const RelayStatus& relay) {
  const Gap& gap = *relay.gap;
  JsonObject out;
  out.Add("id", gap.id);
  out.Add("code", ToString(CodeOf(gap.error)));
  // The range is open where a position is unknown.
  if (gap.from.valid()) {
    out.Add("from_lsn", gap.from.ToString());
  }
  if (gap.to.valid()) {
    out.Add("to_lsn", gap.to.ToString());
  }
  out.Add("accepted", relay.gap_accepted);
  out.Add("checks", relay.gap_checks);
  return std::move(out).Finish();
}

std::string ProgressJson(const ProgressStatus& progress) {
  JsonObject out;
  out.Add("enabled", progress.enabled);
  out.AddText("topic", progress.topic);
  if (progress.frontier.valid()) {
    out.Add("recorded_lsn", progress.frontier.ToString());
  }
  out.Add("written", progress.written);
  out.Add("ahead_bytes", progress.ahead_bytes);
  return std::move(out).Finish();
}

std::string TransactionsJson(const TransactionStatus& transactions) {
  JsonObject out;
  out.Add("state", NameOf(transactions.state));
  out.Add("since", transactions.since);
  out.Add("committed", transactions.committed);
  if (!transactions.failure.ok()) {
    out.Add("failure", ToString(CodeOf(transactions.failure)));
    out.Add("failed", transactions.failed);
  }
  return std::move(out).Finish();
}

JsonObject ErrorJson(const absl::Status& error) {
  const ErrorEntry& entry = Describe(CodeOf(error));
  JsonObject out;
  out.Add("code", ToString(entry.code));
  out.Add("title", entry.title);
  out.Add("message", MessageOf(error));
  out.Add("meaning", entry.meaning);
  out.Add("remedy", RemedyFor(error));
  return out;
}

std::string_view NameOf(RowsUnread unread) {
  switch (unread) {
    case RowsUnread::kNone:
      return "read";
    case RowsUnread::kNoSelect:
      return "no_select";
    case RowsUnread::kPolicy:
      return "row_security";
    case RowsUnread::kFailed:
      return "failed";
  }
  return "?";
}

std::string_view NameOf(RowBound bound) {
  switch (bound) {
    case RowBound::kExact:
      return "exact";
    case RowBound::kAtMost:
      return "at_most";
    case RowBound::kAtLeast:
      return "at_least";
    case RowBound::kEstimate:
      return "estimate";
  }
  return "?";
}

std::string TableJson(const TableReading& table) {
  JsonObject out;
  out.Add("schema", table.schema);
  out.Add("name", table.name);
  out.Add("taken", table.taken);
  if (table.rows) {
    out.Add("rows", table.rows->rows);
    out.Add("rows_estimated", table.rows->bound == RowBound::kEstimate);
  }
  if (table.unpublished) {
    out.Add("unpublished_rows", table.unpublished->rows);
    out.Add("unpublished_bound", NameOf(table.unpublished->bound));
    out.Add("as_of", table.as_of);
  }
  out.Add("oldest_unpublished_seconds", SecondsOf(table.oldest_unpublished));
  if (table.unproven) {
    out.Add("unproven_rows", table.unproven->rows);
  }
  if (table.unsent) {
    out.Add("unsent_rows", table.unsent->rows);
  }
  out.Add("unread", NameOf(table.unread));
  out.Add("size_bytes", table.size.total_bytes);
  out.Add("dead_rows", table.size.dead_rows);
  out.Add("wasted_bytes", WastedBytes(table));
  out.Add("vacuumed", table.size.vacuumed);
  out.Add("partitions", table.size.partitions);
  return std::move(out).Finish();
}

std::string CopyJson(const SlotCopy& copy) {
  JsonObject out;
  out.AddText("host", copy.host);
  out.Add("survives_failover", copy.survives());
  if (copy.confirmed.valid()) {
    out.Add("confirmed_lsn", copy.confirmed.ToString());
  }
  if (!copy.unreachable.ok()) {
    out.Raw("unreachable", std::move(ErrorJson(copy.unreachable)).Finish());
  }
  out.Raw("problems", JsonArray(copy.problems, [](const SlotCopyProblem& problem) {
            JsonObject each;
            each.AddText("text", problem.text);
            each.AddText("remedy", problem.remedy);
            return std::move(each).Finish();
          }));
  return std::move(out).Finish();
}

std::string ProblemJson(const Problem& problem) {
  JsonObject out = ErrorJson(problem.error);
  out.AddText("detail", problem.detail);
  return std::move(out).Finish();
}

std::string PartitionProblemJson(const PartitionProblem& problem) {
  JsonObject out;
  out.Add("partition", problem.partition);
  out.Add("reason", problem.reason);
  return std::move(out).Finish();
}

std::string PruningJson(const PruneStatus& pruning) {
  JsonObject out;
  out.Add("pruned_rows", pruning.pruned);
  out.Add("complete", pruning.complete);
  out.Add("unproven_rows", pruning.last.kept);
  out.Add("oldest_unproven_seconds", SecondsOf(pruning.last.oldest_kept));
  out.Add("locked_ranges", pruning.last.locked);
  out.Raw("partition_problems", JsonArray(pruning.last.partitions.problems, PartitionProblemJson));
  out.Add("paused", pruning.paused);
  if (!pruning.error.ok()) {
    out.Raw("error", ProblemJson({pruning.error, ""}));
  }
  return std::move(out).Finish();
}

std::string PastJson(const PastError& past) {
  JsonObject out = ErrorJson(past.error);
  out.Add("first", past.first);
  out.Add("last", past.last);
  out.Add("times", past.times);
  return std::move(out).Finish();
}

std::string PointJson(const HistoryPoint& point) {
  JsonObject out;
  out.Add("at", point.at);
  out.Add("seconds", SecondsOf(point.span));
  out.Add("events", point.events);
  out.Add("median_latency_seconds", SecondsOf(point.median));
  out.Add("p99_latency_seconds", SecondsOf(point.slowest));
  out.Add("lag_bytes", point.lag_bytes);
  if (point.stages) {
    out.Add("median_postgres_seconds", SecondsOf(point.stages->postgres));
    out.Add("median_relay_seconds", SecondsOf(point.stages->relay));
    out.Add("median_kafka_seconds", SecondsOf(point.stages->kafka));
  }
  return std::move(out).Finish();
}

}  // namespace

std::string StatusJson(const StatusReport& report) {
  const StatusSnapshot& snapshot = report.snapshot;
  JsonObject out;
  out.Add("now", report.now);
  out.Add("version", report.identity.version);
  out.Add("source", report.identity.pipeline.source);
  out.Add("slot_name", report.identity.pipeline.slot);
  out.Add("publication", report.identity.publication);
  out.Add("mode", NameOfChoice(report.identity.mode));
  // Only a relay that answers can be ready: the report of a slot alone is not.
  out.Add("ready", report.relay_answered && IsReady(snapshot));
  out.Add("summary", fmt::format("{}. {}", HeadlineOf(report), SummaryOf(report)));
  if (report.relay_answered) {
    out.Raw("relay", RelayJson(snapshot.relay));
  }
  if (snapshot.relay.gap) {
    out.Raw("gap", GapJson(snapshot.relay));
  }
  if (snapshot.relay.progress) {
    out.Raw("progress", ProgressJson(*snapshot.relay.progress));
  }
  if (snapshot.relay.transactions) {
    out.Raw("transactions", TransactionsJson(*snapshot.relay.transactions));
  }
  if (snapshot.slot) {
    out.Raw("slot", SlotJson(*snapshot.slot));
  }
  if (!snapshot.copies.empty()) {
    out.Raw("standbys", JsonArray(snapshot.copies, CopyJson));
  }
  out.Raw("tables", JsonArray(snapshot.tables, TableJson));
  if (snapshot.pruning) {
    out.Raw("pruning", PruningJson(*snapshot.pruning));
  }
  out.Add("slot_checked", snapshot.sampler.slot);
  out.Add("publication_checked", snapshot.sampler.publication);
  if (!snapshot.sampler.failure.ok()) {
    out.Raw("check_failure", ProblemJson({snapshot.sampler.failure, ""}));
  }
  if (!report.record_failure.ok()) {
    out.Raw("record_failure", ProblemJson({report.record_failure, ""}));
  }
  out.Raw("problems", JsonArray(ProblemsOf(report), ProblemJson));
  out.Raw("past_problems", JsonArray(snapshot.errors, PastJson));
  out.Raw("history", JsonArray(snapshot.history, PointJson));
  return std::move(out).Finish() + "\n";
}

}  // namespace walrelay
