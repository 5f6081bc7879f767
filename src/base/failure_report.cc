#include "base/failure_report.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

#include "base/log.h"

namespace walrelay {
namespace {

constexpr int kFatalSignals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
// The kind and the signal, then three texts, each with a zero byte at its end.
constexpr char kReportKind = 'F';
constexpr size_t kMaxOfAReportedText = 512;

int report_fd = -1;
std::atomic_flag report_begun = ATOMIC_FLAG_INIT;
std::array<char, 2 + 3 * (kMaxOfAReportedText + 1)> report_bytes;
// Each thread has its own. A handler can read it, because it needs no initialization.
thread_local constinit const char* failure_text = nullptr;

// Async-signal-safe. A text that is too long, or has a zero byte, is cut.
size_t AppendToReport(std::string_view text, size_t size) {
  const std::string_view cut = text.substr(0, std::min(text.find('\0'), kMaxOfAReportedText));
  std::memcpy(report_bytes.data() + size, cut.data(), cut.size());
  report_bytes[size + cut.size()] = '\0';
  return size + cut.size() + 1;
}

void OnFatalSignal(int signal) {
  if (report_begun.test_and_set()) {
    for (;;) {
      ::pause();  // the thread that failed first ends the process
    }
  }
  const PipelineIdentity* const pipeline = LogScope::Current();
  report_bytes[0] = kReportKind;
  report_bytes[1] = static_cast<char>(signal);
  size_t size = 2;
  size = AppendToReport(pipeline != nullptr ? std::string_view(pipeline->source) : "", size);
  size = AppendToReport(pipeline != nullptr ? std::string_view(pipeline->slot) : "", size);
  size = AppendToReport(failure_text != nullptr ? failure_text : "", size);
  // Without waiting: a parent that does not read must not keep a failed process alive.
  (void)::send(report_fd, report_bytes.data(), size, MSG_NOSIGNAL | MSG_DONTWAIT);
  // Delivered when this function returns, also if another process had sent the signal.
  (void)std::signal(signal, SIG_DFL);
  (void)::raise(signal);
}

// Removes the text up to the next zero byte, which must be there.
std::optional<std::string> TakeReportedText(std::string_view& rest) {
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  std::string text(rest.substr(0, end));
  rest.remove_prefix(end + 1);
  return text;
}

}  // namespace

void ReportFailuresTo(int fd) {
  report_fd = fd;
  struct sigaction action {};
  action.sa_handler = OnFatalSignal;
  // All are blocked in the handler: a second error of the thread ends the process at once.
  sigemptyset(&action.sa_mask);
  for (const int signal : kFatalSignals) {
    sigaddset(&action.sa_mask, signal);
  }
  for (const int signal : kFatalSignals) {
    (void)::sigaction(signal, &action, nullptr);
  }
}

void SetFailureText(const char* text) {
  failure_text = text;
}

std::optional<FailureReport> ParseFailureReport(std::string_view bytes) {
  if (bytes.size() < 2 || bytes[0] != kReportKind) {
    return std::nullopt;
  }
  const int signal = bytes[1];
  bytes.remove_prefix(2);
  auto source = TakeReportedText(bytes);
  auto slot = TakeReportedText(bytes);
  auto text = TakeReportedText(bytes);
  if (!source || !slot || !text) {
    return std::nullopt;
  }
  FailureReport report;
  if (!source->empty() || !slot->empty()) {
    report.pipeline = {.source = *std::move(source), .slot = *std::move(slot)};
  }
  report.what = text->empty() ? DescribeSignal(signal) : *std::move(text);
  return report;
}

std::string DescribeSignal(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("signal {} (SIG{})", signal, name)
                         : fmt::format("signal {}", signal);
}

}  // namespace walrelay
