#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "base/string_hash.h"
#include "base/system_clock.h"
#include "base/text.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

constexpr size_t kQueueLines = 8192;
constexpr size_t kMostOfAValue = 1024;
constexpr int kLinesPerWindow = 10;
constexpr std::chrono::seconds kWindow{10};

constexpr std::string_view kLevelNames[] = {"debug", "info", "warning", "error"};
constexpr std::string_view kLevelColours[] = {"\033[2m", "\033[32m", "\033[33m", "\033[31m"};

std::string_view NameOf(LogLevel level) {
  return kLevelNames[static_cast<size_t>(level)];
}

// Counts the lines of each event, and says how many were held back when one may be written again.
class RepeatLimit {
 public:
  // nullopt: hold this one back.
  std::optional<uint64_t> Admit(std::string_view event, MonoTime now) {
    auto [it, inserted] = windows_.try_emplace(std::string(event));
    Window& window = it->second;
    uint64_t held_back = 0;
    if (inserted || now - window.start >= kWindow) {
      held_back = std::exchange(window, Window{now, 0, 0}).held_back;
    }
    if (window.lines >= kLinesPerWindow) {
      ++window.held_back;
      return std::nullopt;
    }
    ++window.lines;
    return held_back;
  }

 private:
  struct Window {
    MonoTime start;
    int lines = 0;
    uint64_t held_back = 0;
  };
  StringMap<Window> windows_;
};

struct Writer {
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> sink;
  bool json = false;
  bool colour = false;
  RepeatLimit repeats;
};

std::mutex writer_mutex;
std::unique_ptr<Writer> writer;  // guarded by writer_mutex
std::atomic<LogLevel> least_level{LogLevel::kError};
std::atomic<bool> started{false};

std::string ToText(const LogField::Value& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>) {
          if (!v.empty() && v.find_first_of(" =\"") == std::string::npos) {
            return Printable(v);
          }
          // Escaped, so that none can look like the end of itself and a field after it.
          std::string quoted;
          AppendJsonString(std::string_view(v).substr(0, kMostOfAValue), quoted);
          return quoted;
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

void AppendJson(const LogField::Value& value, std::string& out) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    AppendJsonString(std::string_view(*text).substr(0, kMostOfAValue), out);
  } else if (const auto* number = std::get_if<double>(&value); number && !std::isfinite(*number)) {
    out += "null";  // JSON has no word for it
  } else {
    out += ToText(value);
  }
}

using Fields = std::vector<LogField>;

std::string JsonLine(LogLevel level, std::string_view event, std::string_view message,
                     const Fields& fields) {
  std::string line = fmt::format(R"({{"ts":"{}","level":"{}","event":")",
                                 Rfc3339(SystemClock().WallNow()), NameOf(level));
  line += event;
  line += R"(","msg":)";
  AppendJsonString(message.substr(0, 2048), line);
  for (const LogField& field : fields) {
    line += fmt::format(",\"{}\":", field.key);
    AppendJson(field.value, line);
  }
  line += '}';
  return line;
}

std::string TextLine(LogLevel level, std::string_view event, std::string_view message,
                     const Fields& fields, bool colour) {
  const std::string_view on = colour ? kLevelColours[static_cast<size_t>(level)] : "";
  const std::string_view off = colour ? "\033[0m" : "";
  const std::string_view dim = colour ? "\033[2m" : "";
  std::string line =
      fmt::format("{}{}{} {}{:<7}{} {:<20} {}", dim, Rfc3339(SystemClock().WallNow()), off, on,
                  NameOf(level), off, event, Printable(message, 2048));
  for (const LogField& field : fields) {
    line += fmt::format("  {}{}={}{}", dim, field.key, off, ToText(field.value));
  }
  return line;
}

bool WantsColour() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr &&
         !(terminal != nullptr && std::string_view(terminal) == "dumb");
}

void Write(LogLevel level, std::string_view event, std::string_view message, Fields fields) {
  const std::lock_guard lock(writer_mutex);
  if (writer == nullptr) {
    return;
  }
  const auto held_back = writer->repeats.Admit(event, SystemClock().Now());
  if (!held_back) {
    return;
  }
  if (*held_back > 0) {
    fields.emplace_back("suppressed", *held_back);
  }
  writer->sink->log(spdlog::level::critical,
                    writer->json ? JsonLine(level, event, message, fields)
                                 : TextLine(level, event, message, fields, writer->colour));
}

}  // namespace

void StartLogging(LogLevel level, LogFormat format) {
  const std::lock_guard lock(writer_mutex);
  writer = std::make_unique<Writer>();
  writer->json =
      format == LogFormat::kJson || (format == LogFormat::kAuto && isatty(STDERR_FILENO) == 0);
  writer->colour = !writer->json && WantsColour();
  writer->pool = std::make_shared<spdlog::details::thread_pool>(kQueueLines, 1);
  writer->sink = std::make_shared<spdlog::async_logger>(
      "walrelay", std::make_shared<spdlog::sinks::stderr_sink_mt>(), writer->pool,
      spdlog::async_overflow_policy::overrun_oldest);
  // The line is finished when it gets here: spdlog's patterns do not escape what they insert.
  writer->sink->set_pattern("%v");
  least_level.store(level, std::memory_order_relaxed);
  started.store(true, std::memory_order_release);
}

void StopLogging() {
  started.store(false, std::memory_order_release);
  const std::lock_guard lock(writer_mutex);
  writer.reset();
}

void Log(LogLevel level, std::string_view event, std::string_view message,
         std::initializer_list<LogField> fields) {
  if (started.load(std::memory_order_acquire) &&
      level >= least_level.load(std::memory_order_relaxed)) {
    Write(level, event, message, Fields(fields));
  }
}

void LogStatus(LogLevel level, std::string_view event, const absl::Status& status,
               std::initializer_list<LogField> fields) {
  if (!started.load(std::memory_order_acquire) ||
      level < least_level.load(std::memory_order_relaxed)) {
    return;
  }
  const ErrorEntry& entry = Describe(CodeOf(status));
  Fields all{{"code", ToString(entry.code)}};
  all.insert(all.end(), fields.begin(), fields.end());
  all.emplace_back("means", entry.meaning);
  all.emplace_back("hint", RemedyFor(status));
  Write(level, event, fmt::format("{}: {}", entry.title, MessageOf(status)), std::move(all));
}

}  // namespace walrelay
