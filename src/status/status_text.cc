// The status report as text for a terminal.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "outbox/table_health.h"
#include "outbox/table_words.h"
#include "status/slot_words.h"
#include "status/status_report.h"
#include "status/throughput.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

// Text from rows and servers is escaped here, once for all lines.
void Line(std::string& out, std::string_view label, std::string_view text) {
  out += fmt::format("  {:<12} {}\n", label, Printable(text));
}

std::string OldestText(const StatusReport& report) {
  const OldestWords words = OldestOf(report);
  if (report.snapshot.relay.figures.oldest_commit) {
    return fmt::format("committed {} ago", words.value);
  }
  return words.note.empty() ? words.value : fmt::format("{}: {}", words.value, words.note);
}

std::string ThroughputText(const Throughput& throughput) {
  std::string text =
      fmt::format("{:.1f} events/s in the last minute", throughput.events_per_second);
  if (throughput.median && throughput.slowest) {
    text += fmt::format("; commit to acknowledgement p50 {}, p99 {}",
                        FormatDuration(*throughput.median), FormatDuration(*throughput.slowest));
  }
  return text;
}

void RelayLines(const StatusReport& report, std::string& out) {
  const RelayStatus& relay = report.snapshot.relay;
  Line(out, "since", FormatDuration(report.now - relay.since));
  if (!relay.waits_for.empty()) {
    Line(out, "waiting for", relay.waits_for);
  }
  // A standby reads nothing, so it knows of no event.
  if (relay.state != RelayState::kStandby) {
    Line(out, "oldest event", OldestText(report));
  }
  Line(out, "in flight",
       fmt::format("{} events, {}", Grouped(relay.figures.records_in_flight),
                   HumanBytes(relay.figures.bytes_in_flight)));
  if (relay.figures.incoming_bytes > 0) {
    Line(out, "arriving", IncomingWords(relay.figures.incoming_bytes));
  }
  if (relay.figures.skipped_origin_rows && relay.state != RelayState::kStandby) {
    Line(out, "origin",
         fmt::format("rows that replication wrote are not published: {} skipped",
                     Grouped(*relay.figures.skipped_origin_rows)));
  }
  if (relay.progress && relay.state != RelayState::kStandby) {
    Line(out, "progress", ProgressWords(*relay.progress, report.now));
  }
  if (const auto throughput = ThroughputOf(report.snapshot.history)) {
    Line(out, "throughput", ThroughputText(*throughput));
    if (throughput->stages) {
      Line(out, "latency", StageWords(*throughput));
    }
  }
}

void SlotLines(const SlotSample& slot, std::string& out) {
  if (slot.exists) {
    Line(out, "lag", fmt::format("{}, {} of WAL", LagAgeWords(slot), HumanBytes(slot.lag_bytes())));
  }
  // Only the first line has the label; the others are indented under it.
  std::string_view label = "slot";
  for (const std::string& words : SlotWords(slot)) {
    Line(out, label, words);
    label = "";
  }
}

void CopyLines(const std::vector<SlotCopy>& copies, std::string& out) {
  std::string_view label = "standbys";
  for (const SlotCopy& copy : copies) {
    Line(out, std::exchange(label, ""), SlotCopyWords(copy));
    for (const SlotCopyProblem& problem : copy.problems) {
      Line(out, "what to do", problem.remedy);
    }
  }
}

void TableLines(const std::vector<TableReading>& tables, std::string& out) {
  std::string_view label = "tables";
  for (const TableReading& table : tables) {
    Line(out, std::exchange(label, ""), RowsWords(table) + ".");
    Line(out, "", SizeWords(table) + ".");
    for (const TableProblem& problem : ProblemsOf(table)) {
      Line(out, "problem", problem.text);
      Line(out, "what to do", problem.remedy);
    }
  }
}

}  // namespace

// From the most important to the details: a terminal shows the beginning.
std::string StatusText(const StatusReport& report) {
  const PipelineIdentity& pipeline = report.identity.pipeline;
  std::string out = fmt::format("{}. {}\n", HeadlineOf(report), SummaryOf(report));
  Line(out, "source", fmt::format("{}, slot {}", pipeline.source, pipeline.slot));
  Line(out, "mode", ModeWords(report));
  if (report.relay_answered) {
    RelayLines(report, out);
  }
  if (report.snapshot.slot) {
    SlotLines(*report.snapshot.slot, out);
  }
  CopyLines(report.snapshot.copies, out);
  TableLines(report.snapshot.tables, out);
  if (report.snapshot.pruning) {
    Line(out, "pruning", PruningWords(*report.snapshot.pruning, report.now));
  }
  for (const std::string& words : UnknownsOf(report)) {
    Line(out, "unknown", words);
  }
  for (const Problem& problem : ProblemsOf(report)) {
    const ErrorEntry& entry = Describe(CodeOf(problem.error));
    out += fmt::format("\n{} {}: {}\n", ToString(entry.code), entry.title,
                       Printable(MessageOf(problem.error)));
    if (!problem.detail.empty()) {
      Line(out, "where", problem.detail);
    }
    Line(out, "meaning", entry.meaning);
    Line(out, "what to do", RemedyFor(problem.error));
  }
  return out;
}

}  // namespace walrelay
