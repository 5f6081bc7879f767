// Text helpers for logs, messages and suggestions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "walrelay/clock.h"

namespace walrelay {

// `text` with control characters (C0, DEL, and C1 as UTF-8) written as \xNN, and characters that
// end a line for some viewers (U+2028, U+2029) or change the direction of text as \uNNNN, truncated
// to `limit` bytes: text from a row, a server or a broker can neither forge a log line nor control
// a terminal.
// Bytes that are not UTF-8 become \xNN. A character is never cut in half; "…" marks the truncation
// and may exceed the limit.
std::string Printable(std::string_view text, size_t limit = 1024);

// Appends `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD;
// characters that Printable() escapes are escaped too.
void AppendJsonString(std::string_view text, std::string& out);

// The candidate nearest to `name` (edit distance at most a third of its length, at least 2; 1 for
// up to three letters), or "". A view of one of the candidates. Time: product of the lengths, for
// each candidate.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates);

// "532 B", "1.5 KiB", "3.1 GiB".
std::string HumanBytes(uint64_t bytes);

// "1,234,567".
std::string Grouped(uint64_t number);

// "250 µs", "1.4 ms", "4.5 s", "12 s", "9 min 57 s", "40 min", "2 h 5 min", "4 days": rounded down
// from ten seconds on. A negative duration is shown as zero.
std::string FormatDuration(Micros duration);

// "2026-11-20T08:14:02.000123Z".
// REQUIRES: a year from 0 to 9999, whose text has the fixed width that callers rely on.
std::string Rfc3339(WallTime time);
// The same; allocates nothing if `out` has room.
void AppendRfc3339(WallTime time, std::string& out);
// The inverse: date, time and zone, "2026-11-20T08:14:02Z" or "2026-11-20T09:14:02.5+01:00".
// nullopt for any other text, and for a year before 1 or after 9999.
std::optional<WallTime> ParseRfc3339(std::string_view text);

}  // namespace walrelay
