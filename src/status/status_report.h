// StatusReport: the status of a relay or of its slot, and its texts.
//
// A report has three formats: StatusJson() for programs, StatusPage() for a browser, StatusText()
// for a terminal. All functions are pure. Each format escapes text from rows, servers and brokers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "status/status_board.h"
#include "walrelay/clock.h"
#include "walrelay/config/pipeline.h"
#include "walrelay/pipeline_identity.h"

namespace walrelay {

// The relay that the report is about. It does not change while the process runs.
// `publication` is the configured name; the formats escape all texts.
struct StatusIdentity {
  std::string version;
  PipelineIdentity pipeline;
  std::string publication;
  std::string name;  // of the pipeline; "": the only one of its process
  PipelineMode mode = PipelineMode::kSlot;
};

// A snapshot with its time: the same report in three formats.
// REQUIRES: `now` is by the clock of the snapshot's times, that of the relay's host.
struct StatusReport {
  StatusIdentity identity;
  WallTime now;
  StatusSnapshot snapshot;
  // False: no relay answered, and the data comes from Postgres only; snapshot.relay is unset.
  bool relay_answered = true;
  // Without a relay: why the progress record, which proves what is published, was not read.
  absl::Status record_failure;
};

// The health that a state means: no action needed, in progress, needs attention, needs action.
enum class HealthLevel { kGood, kBusy, kWarning, kBad };
std::string_view NameOf(HealthLevel health);

// The state in a few words: "Events flow", "Catching up", …
// A slot at critical risk takes precedence over the relay's state. A literal.
std::string_view HeadlineOf(const StatusReport& report);
// The state in a sentence or two.
// Never claims more than is known: while the slot was not seen, it does not say that Postgres
// retains the events. May contain text of servers; the formats escape it.
std::string SummaryOf(const StatusReport& report);
// kBad for a slot at critical risk, a problem of the publication or a table, and a blocked relay.
// kWarning also while the sampler cannot check the server.
HealthLevel HealthOf(const StatusReport& report);

// The current problems, the worst first.
// For each problem its code, meaning and remedy.
struct Problem {
  absl::Status error;
  std::string detail;  // the row, if any; mostly ""
};
// The slot first, then the publication, then the relay, then pruning; empty if there is none.
// Without an answer of a relay, a missing slot is WR-2101.
std::vector<Problem> ProblemsOf(const StatusReport& report);

// One sentence for each unknown: what the sampler has not checked yet, or not recently.
// If no relay answered, the slot was read for this report, and the progress record may be unknown.
std::vector<std::string> UnknownsOf(const StatusReport& report);

// The age of the oldest unacknowledged event, or "unknown".
struct OldestWords {
  std::string value;  // "12 s", "none", "unknown"
  std::string note;   // may be ""
};
OldestWords OldestOf(const StatusReport& report);

// How large the row may be that arrives.
std::string IncomingWords(uint64_t bytes);

// The recorded position, how old the record is, and its topic.
std::string ProgressWords(const ProgressStatus& progress, WallTime now);

// The mode of the pipeline and what it promises; with Kafka transactions also TransactionWords().
std::string ModeWords(const StatusReport& report);

// Where the Kafka transaction is, how many were committed, and a failure of the last hour.
std::string TransactionWords(const TransactionStatus& transactions, WallTime now);

// How many rows were pruned, how many are kept without proof, and whether pruning is paused.
std::string PruningWords(const PruneStatus& pruning, WallTime now);

// As specified by proto/walrelay/admin/v1/status.proto, with a line end. Values that are not known
// are absent.
std::string StatusJson(const StatusReport& report);
// Complete without JavaScript, with a Content-Security-Policy that permits only the page's own
// script and style. Contains messages of errors, which may quote the id and key of a row: not for a
// request with a foreign Host.
std::string StatusPage(const StatusReport& report);
// Several lines, the most important first. Without colour.
std::string StatusText(const StatusReport& report);

}  // namespace walrelay
