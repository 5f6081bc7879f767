#include "cli/progress_report.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"

namespace walrelay {
namespace {

// The record is input: its times may be far outside of what Rfc3339() can write.
std::string TimeText(WallTime time) {
  constexpr WallTime kFirst = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
  constexpr WallTime kEnd = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);
  return time >= kFirst && time < kEnd ? Rfc3339(time)
                                       : fmt::format("{} us", time.time_since_epoch().count());
}

void ReportLine(std::string& out, std::string_view label, std::string_view text) {
  out += fmt::format("{:<16} {}\n", label, Printable(text));
}

std::string ServerText(const Progress& record) {
  std::string text = fmt::format("system {}, timeline {}", record.system_id, record.timeline);
  for (const TimelineEnd& ancestor : record.ancestors) {
    text += fmt::format("; timeline {} ended at {}", ancestor.timeline, ancestor.end.ToString());
  }
  return text;
}

std::string TransactionText(const PublishedTransaction& transaction) {
  return fmt::format("transaction {}, COMMIT at {}, {}", transaction.xid,
                     transaction.commit_lsn.ToString(), TimeText(transaction.commit_time));
}

std::string LastText(const Progress& record) {
  if (record.last.valid()) {
    return TransactionText(record.last);
  }
  return record.settled_before.valid()
             ? fmt::format("not known; events before {} are", record.settled_before.ToString())
             : "not known; nothing is known of earlier events";
}

JsonObject TransactionObject(const PublishedTransaction& transaction) {
  JsonObject out;
  out.Add("commit_lsn", transaction.commit_lsn.ToString());
  out.Add("transaction_id", transaction.xid);
  out.Add("commit_time", TimeText(transaction.commit_time));
  return out;
}

std::string TransactionJson(const PublishedTransaction& last) {
  return last.valid() ? TransactionObject(last).Finish() : "null";
}

std::string PartialJson(const PartialTransaction& partial) {
  if (!partial.valid()) {
    return "null";
  }
  JsonObject out = TransactionObject(partial.transaction);
  out.Add("row_lsn", partial.row_lsn.ToString());
  out.Add("row_index", partial.row_index);
  return std::move(out).Finish();
}

std::string AncestorJson(const TimelineEnd& ancestor) {
  JsonObject out;
  out.Add("timeline", ancestor.timeline);
  out.Add("end", ancestor.end.ToString());
  return std::move(out).Finish();
}

std::string XidStartJson(const XidStart& start) {
  JsonObject out;
  out.Add("xid", start.xid);
  out.Add("taken", TimeText(start.taken));
  return std::move(out).Finish();
}

std::string HorizonJson(const XidHorizon& horizon) {
  JsonObject out;
  out.Add("xid", horizon.xid);
  out.Add("insert_lsn", horizon.insert_lsn.ToString());
  out.Add("taken", TimeText(horizon.taken));
  return std::move(out).Finish();
}

std::string HeldJson(const std::optional<HeldGap>& held) {
  if (!held) {
    return "null";
  }
  JsonObject out;
  out.Add("code", ToString(held->code));
  out.Add("id", held->id);
  out.Add("reason", held->reason);
  out.Add("from", held->from.ToString());
  out.Add("to", held->to.ToString());
  return std::move(out).Finish();
}

std::string SeenPublicationJson(const SeenPublication& seen) {
  JsonObject out;
  out.Add("name", seen.name);
  out.Add("oid", seen.state.identity.oid);
  out.Add("before", seen.state.before.ToString());
  return std::move(out).Finish();
}

// Named as the members of the message, without units: positions and times are texts.
std::string RecordJson(const Progress& record) {
  JsonObject out;
  out.Add("pipeline", record.pipeline);
  out.Add("system_id", record.system_id);
  out.Add("timeline", record.timeline);
  out.Raw("ancestors", JsonArray(record.ancestors, AncestorJson));
  out.Add("database", record.database);
  out.Add("database_oid", record.database_oid);
  out.Add("slot", record.slot);
  out.Add("cluster_id", record.cluster_id);
  out.Add("generation", record.generation);
  out.Raw("held", HeldJson(record.held));
  out.Add("frontier", record.frontier.ToString());
  out.Add("settled_before", record.settled_before.ToString());
  out.Raw("last_transaction", TransactionJson(record.last));
  out.Raw("partial_transaction", PartialJson(record.partial));
  out.Raw("published_from", record.published_from.valid() ? XidStartJson(record.published_from)
                                                          : std::string("null"));
  out.Raw("horizons", JsonArray(record.horizons, HorizonJson));
  out.Raw("seen_publication",
          record.seen_publication ? SeenPublicationJson(*record.seen_publication) : "null");
  out.Add("run_id", record.run_id);
  out.Add("sequence", record.sequence);
  out.Add("written", TimeText(record.written));
  out.Add("version", record.version);
  return std::move(out).Finish();
}

}  // namespace

std::string ProgressText(const Progress& record, std::string_view topic) {
  std::string out;
  ReportLine(out, "pipeline", record.pipeline);
  ReportLine(out, "topic", topic);
  ReportLine(out, "server", ServerText(record));
  ReportLine(out, "database", record.database);
  ReportLine(out, "slot", record.slot);
  if (record.held) {
    ReportLine(out, "held",
               fmt::format("gap {}: {}: {}; events between {} and {} may be missing",
                           record.held->id, ToString(record.held->code), record.held->reason,
                           record.held->from.ToString(), record.held->to.ToString()));
  }
  ReportLine(out, "frontier", record.frontier.ToString());
  ReportLine(out, "last published", LastText(record));
  if (record.partial.valid()) {
    ReportLine(out, "in part",
               fmt::format("up to row {} at {}, of {}", record.partial.row_index,
                           record.partial.row_lsn.ToString(),
                           TransactionText(record.partial.transaction)));
  }
  if (record.seen_publication) {
    ReportLine(out, "publication",
               fmt::format("{}, as read at {}", record.seen_publication->name,
                           record.seen_publication->state.before.ToString()));
  }
  if (record.published_from.valid()) {
    ReportLine(out, "horizons from",
               fmt::format("rows with xmin {} or greater, {}", record.published_from.xid,
                           TimeText(record.published_from.taken)));
  }
  for (const XidHorizon& horizon : record.horizons) {
    ReportLine(out, "horizon",
               fmt::format("rows with xmin before {}, since {}, {}", horizon.xid,
                           horizon.insert_lsn.ToString(), TimeText(horizon.taken)));
  }
  ReportLine(out, "generation", fmt::to_string(record.generation));
  ReportLine(out, "written",
             fmt::format("{} by walrelay {}, record {} of run {}", TimeText(record.written),
                         record.version, record.sequence, record.run_id));
  return out;
}

std::string ProgressJson(const std::optional<Progress>& record, std::string_view topic) {
  JsonObject out;
  out.Add("topic", topic);
  out.Raw("record", record ? RecordJson(*record) : "null");
  return std::move(out).Finish() + "\n";
}

}  // namespace walrelay
