// Logging: one line an event, to standard error.
//
// A line has a level, a stable snake_case event name to search and alert on, a sentence for people,
// and fields. Text on a terminal, JSON elsewhere. Values are escaped and cut; payloads, keys of
// rows that were not asked for, and secrets are never passed in. An event that repeats (with the
// same code, where it has one) is suppressed after ten lines in ten seconds; "repeats_suppressed"
// says how many were when the ten seconds are over.
//
// Threads: every function from any thread, and none blocks. A thread writes the lines (LogQueue).
// When standard error takes none (a full pipe) the oldest ordinary lines are dropped, and
// "lines_dropped" says how many once it takes lines again. Audit lines are never suppressed or
// dropped: their writer asks LogHasRoom() first, and waits.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "walrelay/lsn.h"

namespace walrelay {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };
std::string_view NameOf(LogLevel level);  // "debug", "info", "warning", "error"
enum class LogFormat : uint8_t { kAuto, kText, kJson };

struct LogField {
  using Value = std::variant<std::string, int64_t, uint64_t, double, bool>;

  LogField(std::string_view k, std::string_view v) : key(k), value(std::string(v)) {}
  LogField(std::string_view k, const char* v) : key(k), value(std::string(v)) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  LogField(std::string_view k, Lsn v) : key(k), value(v.ToString()) {}
  LogField(std::string_view k, int v) : key(k), value(int64_t{v}) {}
  LogField(std::string_view k, int64_t v) : key(k), value(v) {}
  LogField(std::string_view k, uint64_t v) : key(k), value(v) {}
  LogField(std::string_view k, uint32_t v) : key(k), value(uint64_t{v}) {}
  LogField(std::string_view k, double v) : key(k), value(v) {}
  LogField(std::string_view k, bool v) : key(k), value(v) {}

  std::string_view key;
  Value value;
};

// Before the first of these nothing is written anywhere: libraries and tests are silent.
void StartLogging(LogLevel level, LogFormat format);
// Writes what is queued and stops. Waits for at most three seconds: what standard error has not
// taken by then is not written.
void StopLogging();

// From now on. What was started with is the level to come back to.
void SetLogLevel(LogLevel level);
LogLevel CurrentLogLevel();

// Tells how many lines were held back, of each event whose ten seconds are over. To be called now
// and then; it is cheap while there is nothing to tell.
void TellSuppressed();

void Log(LogLevel level, std::string_view event, std::string_view message,
         std::initializer_list<LogField> fields = {});
inline void LogInfo(std::string_view event, std::string_view message,
                    std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, event, message, fields);
}
inline void LogWarning(std::string_view event, std::string_view message,
                       std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarning, event, message, fields);
}
inline void LogDebug(std::string_view event, std::string_view message,
                     std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kDebug, event, message, fields);
}

// How something that takes its time goes on, in a sentence. On a terminal it stands on one line,
// which the next one takes the place of; elsewhere it is a line like others.
void LogProgress(std::string_view event, std::string_view message,
                 std::initializer_list<LogField> fields = {});
// Whether lines go to a terminal, where somebody may be watching.
bool LogsToTerminal();

// An error with its code, its meaning for the data and its remedy.
void LogStatus(LogLevel level, std::string_view event, const absl::Status& status,
               std::initializer_list<LogField> fields = {});

// Whether an audit line may be written now. False while standard error is blocked and megabytes of
// audit lines wait. True where nothing is logged.
bool LogHasRoom();
// An audit line: what became of one row, and why. Written as a warning whatever the level, the rate
// and the number of lines that wait. REQUIRES: LogHasRoom() since the last call.
void LogAudit(std::string_view event, const absl::Status& status,
              std::initializer_list<LogField> fields);

}  // namespace walrelay
