// Logging: one line per event, to standard error.
//
// A line has a level, a stable snake_case event name to search and alert on, a message, and fields.
// Text on a terminal, JSON elsewhere. Values are escaped and truncated; callers never pass
// payloads, keys of unrequested rows, or secrets. An event that repeats (with the same code, if it
// has one) is suppressed after ten lines in ten seconds; "repeats_suppressed" reports the number of
// suppressed lines after the ten seconds.
//
// A line names the pipeline of the thread that writes it (LogScope): JSON lines always, text only
// if several pipelines had a scope since StartLogging(). Each pipeline has its own limit for
// repetitions.
//
// Threads: every function from any thread, and none blocks. A separate thread writes the lines
// (LogQueue). While standard error accepts no lines (a full pipe), the oldest ordinary lines are
// dropped, and "lines_dropped" reports their number afterwards. Audit lines are never suppressed or
// dropped: the caller checks LogHasRoom() first, and waits.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "walrelay/log_level.h"
#include "walrelay/lsn.h"
#include "walrelay/pipeline_identity.h"

namespace walrelay {

std::string_view NameOf(LogLevel level);  // "debug", "info", "warning", "error"

// A field of a line. The value is copied; the key must outlive the call, and is usually a literal.
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

// While it exists, the lines of the thread that created it have the fields `source` and `slot` of a
// pipeline. Scopes nest; threads started within one do not inherit it, see InLogScope().
class LogScope {
 public:
  // A copy is kept until the process ends: a process has few pipelines, and a callback of a library
  // may come late.
  explicit LogScope(const PipelineIdentity& pipeline);
  // `pipeline`: a result of Current(), also of another thread. nullptr: lines without a pipeline.
  explicit LogScope(const PipelineIdentity* pipeline);
  ~LogScope();

  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

  // The pipeline of the calling thread; nullptr: none. Valid until the process ends, so that it can
  // be passed to another thread or to a library.
  static const PipelineIdentity* Current();

 private:
  const PipelineIdentity* const outer_;
};

// The body of a new thread, which writes its lines in the scope of the thread that calls this
// function.
template <typename Body>
auto InLogScope(Body body) {
  return [pipeline = LogScope::Current(), body = std::move(body)] {
    const LogScope scope(pipeline);
    body();
  };
}

// Before this call nothing is written: libraries and tests are silent.
// REQUIRES: not started, or StopLogging() was called. Starts a thread: call it after fork() and
// before other threads need the log. kAuto is decided here, once.
void StartLogging(LogLevel level, LogFormat format);
// Writes the queued lines and stops. Waits for at most three seconds: lines that standard error has
// not accepted by then are discarded.
// Reports lines that are still suppressed first. Lines of other threads after this call are
// discarded. Without StartLogging() it does nothing.
void StopLogging();

// Changes the level from now on. The caller remembers the level of StartLogging() to restore it.
// Has no effect on audit lines.
void SetLogLevel(LogLevel level);
// kError before StartLogging().
LogLevel CurrentLogLevel();

// Reports the number of suppressed lines for each event whose ten seconds are over. Call it
// periodically; it is cheap if no line was suppressed.
void LogSuppressed();

// A line below the current level costs two atomic loads, but its fields are built by the caller.
// `event` must be a plain snake_case name: it is written without escapes. Views need not outlive
// the call.
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

// Logs the progress of a long operation. On a terminal, and with one pipeline, the next progress
// line of the same event replaces it; otherwise it is an ordinary line.
// Only at level info or below; on a terminal it has the message without the fields, cut to one
// screen line.
void LogProgress(std::string_view event, std::string_view message,
                 std::initializer_list<LogField> fields = {});
// Whether a progress line replaces the one before it.
// False before StartLogging(), for JSON, if TERM is "dumb", and with several pipelines.
bool LogReplacesProgress();

// An error with its code, its meaning for the data and its remedy.
// REQUIRES: !status.ok(). Lines with different codes are suppressed independently of each other.
void LogStatus(LogLevel level, std::string_view event, const absl::Status& status,
               std::initializer_list<LogField> fields = {});

// Whether an audit line may be written now. False while standard error is blocked and megabytes of
// audit lines are queued. True if logging is not started.
bool LogHasRoom();
// An audit line: what happened to one row, and why. Written as a warning regardless of the level,
// the rate and the number of queued lines. REQUIRES: LogHasRoom() returned true since the last
// call.
// REQUIRES: !status.ok(). Does nothing if logging is not started.
void LogAudit(std::string_view event, const absl::Status& status,
              std::initializer_list<LogField> fields);

}  // namespace walrelay
