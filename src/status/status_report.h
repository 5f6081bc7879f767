// StatusReport: the status of a relay or of its slot, and its texts.
//
// A report has three formats: StatusJson() for programs, StatusPage() for a browser, StatusText()
// for a terminal. All functions are pure. Each format escapes text from rows, servers and brokers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "status/status_board.h"
#include "walrelay/clock.h"

namespace walrelay {

// The relay that the report is about.
struct StatusIdentity {
  std::string version;
  std::string slot;
  std::string publication;
};

struct StatusReport {
  StatusIdentity identity;
  WallTime now;
  StatusSnapshot snapshot;
  // False: no relay answered, and the data comes from Postgres only; snapshot.relay is unset.
  bool relay_answered = true;
};

// The severity of a state: no action needed, in progress, needs attention, needs action.
enum class Tone { kGood, kBusy, kWarning, kBad };
std::string_view NameOf(Tone tone);

// The state in a few words: "Events flow", "Catching up", …
std::string_view HeadlineOf(const StatusReport& report);
// The state in a sentence or two.
std::string SummaryOf(const StatusReport& report);
Tone ToneOf(const StatusReport& report);

// The current problems, the worst first.
struct Problem {
  absl::Status error;
  std::string detail;  // the row, if any; mostly ""
};
std::vector<Problem> ProblemsOf(const StatusReport& report);

// One sentence for each unknown: what the sampler has not checked yet, or not recently.
std::vector<std::string> UnknownsOf(const StatusReport& report);

// The age of the oldest unacknowledged event, or "unknown".
struct OldestWords {
  std::string value;  // "12 s", "none", "unknown"
  std::string note;   // may be ""
};
OldestWords OldestOf(const StatusReport& report);

// Sentences about the WAL that the slot retains, the limit, and when the limit is reached.
std::vector<std::string> SlotWords(const SlotSample& slot);

// Aggregates the last minute of the history; nullopt if the history is empty.
struct Pace {
  double events_per_second = 0;
  std::optional<Micros> median;
  std::optional<Micros> slowest;
  std::optional<StageMedians> stages;
};
std::optional<Pace> PaceOf(const std::vector<HistoryPoint>& history);
// The latency by stage, with the cause if most of it arises before Postgres sends a commit; "" if
// nothing was measured.
std::string StageWords(const Pace& pace);

// "1,234,567".
std::string Grouped(uint64_t number);
// A rounded time span: "12 s", "3 min", "2 h 5 min", "4 days".
std::string SpanWords(Micros span);
// A rounded latency: "875 µs", "4.5 ms", "40 min".
std::string LatencyWords(Micros latency);

std::string StatusJson(const StatusReport& report);
std::string StatusPage(const StatusReport& report);
std::string StatusText(const StatusReport& report);

}  // namespace walrelay
