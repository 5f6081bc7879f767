#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/log_line.h"
#include "base/log_queue.h"
#include "base/repeat_limit.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr size_t kMaxOfALine = 79;  // bytes; a wrapped line could not be replaced
constexpr std::string_view kLineAbove = "\033[A\033[2K";  // moves up one line, and clears it

constexpr std::string_view kLevelNames[] = {"debug", "info", "warning", "error"};

// The pipeline of this thread. Trivial, so that it can be read at any time of the thread's life.
thread_local constinit const PipelineIdentity* current_pipeline = nullptr;

// The spdlog sink for complete lines. (spdlog's own asynchronous logger either drops lines without
// reporting how many, or blocks on standard error.)
class QueueSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  QueueSink(LogQueue& queue, bool kept) : queue_(queue), kept_(kept) {}

 private:
  void sink_it_(const spdlog::details::log_msg& line) override {
    std::string text(line.payload.data(), line.payload.size());
    kept_ ? queue_.PutKept(std::move(text)) : queue_.Put(std::move(text));
  }
  void flush_() override {}

  LogQueue& queue_;
  const bool kept_;
};

spdlog::logger MakeLogger(LogQueue& queue, bool kept) {
  spdlog::logger logger("walrelay", std::make_shared<QueueSink>(queue, kept));
  logger.set_level(spdlog::level::trace);  // the level is checked before a line is formatted
  return logger;
}

struct Writer {
  explicit Writer(LogQueue::DroppedLine dropped_line)
      : queue(STDERR_FILENO, std::move(dropped_line)) {}

  // First, because the loggers refer to it.
  LogQueue queue;
  spdlog::logger lines = MakeLogger(queue, /*kept=*/false);
  spdlog::logger kept_lines = MakeLogger(queue, /*kept=*/true);
  bool json = false;
  bool terminal = false;  // with support for cursor movement
  bool colour = false;
  std::string progress;  // event of the last line, if it may be replaced
  RepeatLimit repeats;
  std::set<const PipelineIdentity*> pipelines;  // that had a scope since the start

  bool several_pipelines() const { return pipelines.size() > 1; }
};

// Global, because librdkafka's callback logs from its own threads and has no object of ours.
std::mutex writer_mutex;
std::unique_ptr<Writer> writer;  // guarded by writer_mutex

// An equal identity that is kept until the process ends. REQUIRES: writer_mutex is held.
const PipelineIdentity* Keep(const PipelineIdentity& pipeline) {
  // Never destroyed: a thread of a library may log while the process exits. Elements do not move.
  static auto* const kept = new std::set<PipelineIdentity>();
  return &*kept->insert(pipeline).first;
}

// Atomic and outside of the lock: a line below the level costs no lock.
std::atomic<LogLevel> least_level{LogLevel::kError};
std::atomic<bool> started{false};

using Fields = std::vector<LogField>;

// TERM=dumb: terminals inside editors, which print escape sequences as text.
bool IsSteerableTerminal() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 &&
         !(terminal != nullptr && std::string_view(terminal) == "dumb");
}

std::string TextOf(bool json, bool colour, const LogLine& line, bool name_pipeline = false) {
  return json ? JsonLine(line) : TextLine(line, colour, name_pipeline);
}

// REQUIRES: writer_mutex is held, and there is a writer.
void Put(spdlog::logger& lines, const LogLine& line) {
  writer->progress.clear();
  // spdlog's own level has no effect: the line is complete, and its level has been checked.
  // A person at a terminal knows the only pipeline of a process.
  lines.critical(TextOf(writer->json, writer->colour, line, writer->several_pipelines()));
}

// REQUIRES: as above.
void ReportSuppressed(MonoTime now) {
  for (const RepeatLimit::HeldBack& held : writer->repeats.Take(now)) {
    Fields fields{{"of", held.event}, {"suppressed", held.lines}};
    if (!held.code.empty()) {
      fields.emplace_back("code", held.code);
    }
    Put(writer->lines, {LogLevel::kWarning, held.pipeline, "repeats_suppressed",
                        "similar lines were suppressed", fields});
  }
}

void Write(LogLevel level, std::string_view event, std::string_view code, std::string_view message,
           const Fields& fields) {
  const std::lock_guard lock(writer_mutex);
  if (writer == nullptr) {
    return;
  }
  const MonoTime now = SystemClock().Now();
  ReportSuppressed(now);
  if (writer->repeats.Admit(current_pipeline, event, code, now)) {
    Put(writer->lines, {level, current_pipeline, event, message, fields});
  }
}

// The content of a line about an error. The catalogue's texts do not apply to a row that was
// skipped because of the error: such a row blocks nothing.
struct ErrorLine {
  enum class About { kError, kRow };

  ErrorLine(const absl::Status& status, std::initializer_list<LogField> more,
            About about = About::kError) {
    const ErrorEntry& entry = Describe(CodeOf(status));
    code = ToString(entry.code);
    message = fmt::format("{}: {}", entry.title, MessageOf(status));
    fields.emplace_back("code", code);
    fields.insert(fields.end(), more.begin(), more.end());
    if (about == About::kError) {
      fields.emplace_back("means", entry.meaning);
      fields.emplace_back("hint", RemedyFor(status));
    }
  }

  std::string code;
  std::string message;
  Fields fields;
};

}  // namespace

LogScope::LogScope(const PipelineIdentity& pipeline) : outer_(current_pipeline) {
  const std::lock_guard lock(writer_mutex);
  current_pipeline = Keep(pipeline);
  if (writer != nullptr) {
    writer->pipelines.insert(current_pipeline);
  }
}

LogScope::LogScope(const PipelineIdentity* pipeline)
    : outer_(std::exchange(current_pipeline, pipeline)) {}

LogScope::~LogScope() {
  current_pipeline = outer_;
}

const PipelineIdentity* LogScope::Current() {
  return current_pipeline;
}

std::string_view NameOf(LogLevel level) {
  return kLevelNames[static_cast<size_t>(level)];
}

void StartLogging(LogLevel level, LogFormat format) {
  const std::lock_guard lock(writer_mutex);
  // "auto" chooses by the destination: a person reads a terminal, a log shipper a pipe.
  const bool json =
      format == LogFormat::kJson || (format == LogFormat::kAuto && isatty(STDERR_FILENO) == 0);
  const bool terminal = !json && IsSteerableTerminal();
  const bool colour = terminal && std::getenv("NO_COLOR") == nullptr;
  writer = std::make_unique<Writer>([json, colour](uint64_t dropped) {
    return TextOf(json, colour,
                  {LogLevel::kWarning,
                   nullptr,
                   "lines_dropped",
                   "standard error did not accept lines fast enough",
                   {{"suppressed", dropped}}});
  });
  writer->json = json;
  writer->terminal = terminal;
  writer->colour = colour;
  least_level.store(level, std::memory_order_relaxed);
  started.store(true, std::memory_order_release);
}

void StopLogging() {
  started.store(false, std::memory_order_release);
  std::unique_ptr<Writer> ending;  // destroyed last: waits for standard error without the lock
  const std::lock_guard lock(writer_mutex);
  if (writer != nullptr) {
    // All windows count as ended: no count is lost at the end of the process.
    ReportSuppressed(MonoTime::max());
  }
  ending = std::move(writer);
}

void SetLogLevel(LogLevel level) {
  least_level.store(level, std::memory_order_relaxed);
}

LogLevel CurrentLogLevel() {
  return least_level.load(std::memory_order_relaxed);
}

void LogSuppressed() {
  const std::lock_guard lock(writer_mutex);
  if (writer != nullptr) {
    ReportSuppressed(SystemClock().Now());
  }
}

void Log(LogLevel level, std::string_view event, std::string_view message,
         std::initializer_list<LogField> fields) {
  if (started.load(std::memory_order_acquire) &&
      level >= least_level.load(std::memory_order_relaxed)) {
    Write(level, event, "", message, Fields(fields));
  }
}

void LogProgress(std::string_view event, std::string_view message,
                 std::initializer_list<LogField> fields) {
  if (!LogReplacesProgress()) {
    return LogInfo(event, message, fields);
  }
  const std::lock_guard lock(writer_mutex);
  if (writer == nullptr || CurrentLogLevel() > LogLevel::kInfo) {
    return;
  }
  // Only if no other line has been written since: that one would be overwritten.
  const bool replaces = writer->progress == event;
  writer->lines.critical(
      fmt::format("{}{}", replaces ? kLineAbove : "", Printable(message, kMaxOfALine)));
  writer->progress = event;
}

bool LogReplacesProgress() {
  const std::lock_guard lock(writer_mutex);
  return writer != nullptr && writer->terminal && !writer->several_pipelines();
}

void LogStatus(LogLevel level, std::string_view event, const absl::Status& status,
               std::initializer_list<LogField> fields) {
  if (!started.load(std::memory_order_acquire) ||
      level < least_level.load(std::memory_order_relaxed)) {
    return;
  }
  const ErrorLine line(status, fields);
  Write(level, event, line.code, line.message, line.fields);
}

bool LogHasRoom() {
  const std::lock_guard lock(writer_mutex);
  return writer == nullptr || writer->queue.HasRoom();
}

void LogAudit(std::string_view event, const absl::Status& status,
              std::initializer_list<LogField> fields) {
  const std::lock_guard lock(writer_mutex);
  if (writer == nullptr) {
    return;
  }
  const ErrorLine line(status, fields, ErrorLine::About::kRow);
  Put(writer->kept_lines, {LogLevel::kWarning, current_pipeline, event, line.message, line.fields});
}

}  // namespace walrelay
