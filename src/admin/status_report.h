// StatusReport: what is to be shown of a relay or of its slot, and the words for it.
//
// One report, three forms: StatusJson() for programs, StatusPage() for a browser, StatusText() for
// a terminal. All are pure; what rows, servers and brokers said is escaped in each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "relay/status_board.h"
#include "walrelay/clock.h"

namespace walrelay {

// What is shown, and who is speaking.
struct StatusIdentity {
  std::string version;
  std::string slot;
  std::string publication;
};

struct StatusReport {
  StatusIdentity identity;
  WallTime now;
  StatusSnapshot snapshot;
  // False: no relay answered, and Postgres alone was asked; snapshot.relay says nothing.
  bool relay_answered = true;
};

// How a state feels: what needs nobody, what is under way, what to keep an eye on, what to act on.
enum class Tone { kGood, kBusy, kWarning, kBad };
std::string_view NameOf(Tone tone);

// "Events flow", "Catching up", …: the state in two words.
std::string_view HeadlineOf(const StatusReport& report);
// The state in a sentence or two.
std::string SummaryOf(const StatusReport& report);
Tone ToneOf(const StatusReport& report);

// What is wrong now, the worst first.
struct Problem {
  absl::Status error;
  std::string detail;  // which row; "" mostly
};
std::vector<Problem> ProblemsOf(const StatusReport& report);

// What is not known now, a sentence each: what the sampler has not seen yet, or not for a while.
std::vector<std::string> UnknownsOf(const StatusReport& report);

// How old the oldest event is that is not acknowledged, or that this is not known.
struct OldestWords {
  std::string value;  // "12 s", "none", "unknown"
  std::string note;   // "" where there is nothing to add
};
OldestWords OldestOf(const StatusReport& report);

// What the slot costs, what it may cost and when that is used up: a sentence each.
std::vector<std::string> SlotWords(const SlotSample& slot);

// The last minute of the history, taken together; nullopt when there is none.
struct Pace {
  double events_per_second = 0;
  std::optional<Micros> median;
  std::optional<Micros> slowest;
  std::optional<StageMedians> stages;
};
std::optional<Pace> PaceOf(const std::vector<HistoryPoint>& history);
// Where the time goes, and whose it is when most of it is the writers'; "" when nothing was
// measured.
std::string StageWords(const Pace& pace);

// "1,234,567".
std::string Grouped(uint64_t number);
// A time span as people say it: "12 s", "3 min", "2 h 5 min", "4 days".
std::string SpanWords(Micros span);
// A latency, to be read at a glance: "875 µs", "4.5 ms", "40 min".
std::string LatencyWords(Micros latency);

std::string StatusJson(const StatusReport& report);
std::string StatusPage(const StatusReport& report);
std::string StatusText(const StatusReport& report);

}  // namespace walrelay
