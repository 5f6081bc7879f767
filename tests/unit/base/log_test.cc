#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <csignal>
#include <functional>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "fakes/captured_stream.h"
#include "fakes/environment_variable.h"
#include "json_field.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ::testing::AllOf;
using testing::CapturedStream;
using ::testing::EndsWith;
using testing::EnvironmentVariable;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override { StopLogging(); }

  // Stops the log and returns all lines that were written.
  std::vector<std::string> Lines() {
    StopLogging();
    std::vector<std::string> lines;
    std::istringstream text(captured_.Text());
    for (std::string line; std::getline(text, line);) {
      lines.push_back(line);
    }
    return lines;
  }
  // Like Lines(), for a log of exactly one line.
  std::string Line() {
    const std::vector<std::string> lines = Lines();
    EXPECT_THAT(lines, SizeIs(1));
    return lines.empty() ? "" : lines[0];
  }
  // The line that is logged for an event.
  std::string LineOf(LogFormat format) {
    CapturedStream captured(stderr);
    StartLogging(LogLevel::kDebug, format);
    Log(LogLevel::kInfo, "event", "m");
    StopLogging();
    const std::string text = captured.Text();
    EXPECT_THAT(text, EndsWith("\n"));
    return text.substr(0, text.size() - 1);
  }

  CapturedStream captured_{stderr};
};

TEST_F(LogTest, NothingIsWrittenBeforeStartOrAfterStop) {
  LogWarning("early", "before");
  StartLogging(LogLevel::kDebug, LogFormat::kText);
  StopLogging();
  LogWarning("late", "after");
  LogStatus(LogLevel::kError, "late", Error(ErrorCode::kWalLevel, "x"));
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(LogTest, LinesBelowTheLevelAreNotWritten) {
  StartLogging(LogLevel::kWarning, LogFormat::kText);
  LogDebug("a", "no");
  LogInfo("b", "no");
  LogStatus(LogLevel::kInfo, "c", Error(ErrorCode::kWalLevel, "no"));
  LogWarning("d", "yes");
  Log(LogLevel::kError, "e", "yes");
  EXPECT_THAT(Lines(), SizeIs(2));
}

TEST_F(LogTest, OnlyRepeatedEventsAreSuppressed) {
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  for (int i = 0; i < 50; ++i) {
    LogInfo("often", "again");
  }
  LogInfo("rare", "once");
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(12));
  EXPECT_THAT(lines[10], HasSubstr("rare"));
  EXPECT_THAT(lines[11], AllOf(HasSubstr("repeats_suppressed"), HasSubstr("of=often"),
                               HasSubstr("suppressed=40")));
}

TEST_F(LogTest, ErrorsOfDifferentCodesAreSuppressedSeparately) {
  StartLogging(LogLevel::kInfo, LogFormat::kJson);
  for (int i = 0; i < 30; ++i) {
    LogStatus(LogLevel::kWarning, "row_skipped", Error(ErrorCode::kKeyMissing, "a"));
  }
  LogStatus(LogLevel::kWarning, "row_skipped", Error(ErrorCode::kRouteMissing, "b"));
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(12));
  EXPECT_EQ(FieldOf(lines[10], "code"), ToString(ErrorCode::kRouteMissing));
  EXPECT_EQ(FieldOf(lines[11], "code"), ToString(ErrorCode::kKeyMissing));
  EXPECT_EQ(FieldOf(lines[11], "suppressed"), "20");
}

// --- pipelines

const PipelineIdentity kOrders = {"db1/shop", "orders"};
const PipelineIdentity kInvoices = {"db2/shop", "invoices"};

TEST_F(LogTest, LinesNameThePipelineOfTheirScope) {
  StartLogging(LogLevel::kInfo, LogFormat::kJson);
  LogInfo("before", "m");
  {
    const LogScope outer(kOrders);
    LogInfo("outer", "m", {{"lag", 7}});
    {
      const LogScope inner(kInvoices);
      LogStatus(LogLevel::kError, "inner", Error(ErrorCode::kWalLevel, "x"));
    }
    LogAudit("row_skipped", Error(ErrorCode::kKeyMissing, "m"), {});
  }
  LogInfo("after", "m");
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(5));
  const std::string sources[] = {"absent", "db1/shop", "db2/shop", "db1/shop", "absent"};
  const std::string slots[] = {"absent", "orders", "invoices", "orders", "absent"};
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(FieldOf(lines[i], "source"), sources[i]) << lines[i];
    EXPECT_EQ(FieldOf(lines[i], "slot"), slots[i]) << lines[i];
  }
}

TEST_F(LogTest, ThreadsInheritThePipelineOnlyThroughInLogScope) {
  StartLogging(LogLevel::kInfo, LogFormat::kJson);
  const LogScope scope(kOrders);
  std::thread(InLogScope([] { LogInfo("within", "m"); })).join();
  std::thread([] { LogInfo("outside", "m"); }).join();
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(FieldOf(lines[0], "slot"), "orders");
  EXPECT_EQ(FieldOf(lines[1], "slot"), "absent");
}

TEST_F(LogTest, RepeatsOfOnePipelineDoNotSuppressAnother) {
  StartLogging(LogLevel::kInfo, LogFormat::kJson);
  const auto report = [](const PipelineIdentity& pipeline, int lines) {
    const LogScope scope(pipeline);
    for (int i = 0; i < lines; ++i) {
      LogStatus(LogLevel::kWarning, "reconnecting", Error(ErrorCode::kConnectionLost, "m"));
    }
  };
  report(kOrders, 30);
  report(kInvoices, 1);
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(12));
  EXPECT_EQ(FieldOf(lines[10], "source"), "db2/shop");
  EXPECT_EQ(FieldOf(lines[11], "event"), "repeats_suppressed");
  EXPECT_EQ(FieldOf(lines[11], "source"), "db1/shop");
  EXPECT_EQ(FieldOf(lines[11], "suppressed"), "20");
}

TEST_F(LogTest, TextNamesThePipelineOnlyIfThereAreSeveral) {
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  const LogScope scope(kOrders);
  LogInfo("event", "alone", {{"lag", 7}});
  const LogScope inner(kInvoices);
  LogInfo("event", "together", {{"lag", 7}});
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], EndsWith("alone  lag=7"));
  EXPECT_THAT(lines[1], EndsWith("together  source=db2/shop  slot=invoices  lag=7"));
}

TEST_F(LogTest, LevelCanBeChangedAtRuntime) {
  StartLogging(LogLevel::kWarning, LogFormat::kText);
  LogInfo("a", "no");
  SetLogLevel(LogLevel::kDebug);
  EXPECT_EQ(CurrentLogLevel(), LogLevel::kDebug);
  LogDebug("b", "yes");
  SetLogLevel(LogLevel::kWarning);
  LogInfo("c", "no");
  EXPECT_THAT(Lines(), SizeIs(1));
}

TEST_F(LogTest, ErrorLineHasCodeMeaningAndRemedy) {
  StartLogging(LogLevel::kInfo, LogFormat::kJson);
  LogStatus(LogLevel::kError, "failed", Error(ErrorCode::kWalLevel, "wal_level is replica", "do"),
            {{"slot", "a"}});
  const std::string line = Line();
  EXPECT_EQ(FieldOf(line, "code"), ToString(ErrorCode::kWalLevel));
  EXPECT_THAT(FieldOf(line, "msg"), EndsWith(": wal_level is replica"));
  EXPECT_EQ(FieldOf(line, "slot"), "a");
  EXPECT_EQ(FieldOf(line, "means"), Describe(ErrorCode::kWalLevel).meaning);
  EXPECT_EQ(FieldOf(line, "hint"), "do");
}

TEST_F(LogTest, LinesOfSeveralThreadsAreNotMixed) {
  StartLogging(LogLevel::kInfo, LogFormat::kJson);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 200; ++i) {
        LogInfo("event_" + std::to_string(thread * 1000 + i), "m", {{"thread", thread}});
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(800));
  for (const std::string& line : lines) {
    EXPECT_EQ(FieldOf(line, "msg"), "m");
  }
}

TEST_F(LogTest, AutoFormatIsJsonWithoutATerminal) {
  EXPECT_THAT(LineOf(LogFormat::kAuto), StartsWith("{"));
  EXPECT_THAT(LineOf(LogFormat::kText), Not(HasSubstr("\033")));
}

// Every skipped row is logged, whatever the rate, the level and the queue.
TEST_F(LogTest, EveryAuditLineIsWritten) {
  StartLogging(LogLevel::kError, LogFormat::kJson);
  constexpr int kRows = 10'000;
  for (int i = 0; i < kRows; ++i) {
    while (!LogHasRoom()) {
      std::this_thread::yield();
    }
    LogAudit("row_skipped", Error(ErrorCode::kKeyMissing, "m"), {{"row", i}});
    LogWarning("noise", "below the level");
  }
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(kRows));
  for (int i = 0; i < kRows; ++i) {
    ASSERT_EQ(FieldOf(lines[static_cast<size_t>(i)], "row"), std::to_string(i));
  }
  EXPECT_EQ(FieldOf(lines[0], "level"), "warning");
  EXPECT_EQ(FieldOf(lines[0], "code"), ToString(ErrorCode::kKeyMissing));
  // The catalogue's text is about a row that blocks.
  EXPECT_EQ(FieldOf(lines[0], "means"), "absent");
  EXPECT_EQ(FieldOf(lines[0], "hint"), "absent");
}

TEST_F(LogTest, LogHasRoomBeforeTheStart) {
  EXPECT_TRUE(LogHasRoom());
  LogAudit("row_skipped", Error(ErrorCode::kKeyMissing, "m"), {});
  EXPECT_THAT(Lines(), IsEmpty());
}

// --- terminals and pipes ---

// Redirects standard error to `fd` during its lifetime.
class StandardErrorTo {
 public:
  explicit StandardErrorTo(int fd) : before_(::dup(STDERR_FILENO)) { ::dup2(fd, STDERR_FILENO); }
  StandardErrorTo(const StandardErrorTo&) = delete;
  StandardErrorTo& operator=(const StandardErrorTo&) = delete;
  ~StandardErrorTo() { ::dup2(before_.get(), STDERR_FILENO); }

 private:
  UniqueFd before_;
};

std::string ReadAll(int fd) {
  std::string text;
  char chunk[4096];
  for (ssize_t size = 0; (size = ::read(fd, chunk, sizeof(chunk))) > 0;) {
    text.append(chunk, static_cast<size_t>(size));
  }
  return text;
}

class LogTerminalTest : public ::testing::Test {
 protected:
  // The bytes that a terminal receives for these events.
  static std::string Shown(
      LogFormat format, const std::function<void()>& log = [] { LogWarning("event", "m"); }) {
    UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY));
    EXPECT_EQ(::grantpt(terminal.get()) | ::unlockpt(terminal.get()), 0);
    {
      const UniqueFd shell(::open(::ptsname(terminal.get()), O_RDWR | O_NOCTTY));
      const StandardErrorTo redirected(shell.get());
      StartLogging(LogLevel::kInfo, format);
      log();
      StopLogging();
    }
    return ReadAll(terminal.get());
  }

  EnvironmentVariable term_{"TERM", "xterm"};
  EnvironmentVariable no_color_{"NO_COLOR", std::nullopt};
};

TEST_F(LogTerminalTest, TerminalGetsColouredText) {
  EXPECT_THAT(Shown(LogFormat::kAuto), HasSubstr("\033[33mwarning\033[0m event"));
  EXPECT_THAT(Shown(LogFormat::kJson), StartsWith("{"));
}

TEST_F(LogTerminalTest, NoColorAndDumbTerminalsDisableColour) {
  no_color_.Set("1");
  EXPECT_THAT(Shown(LogFormat::kAuto), AllOf(HasSubstr("warning"), Not(HasSubstr("\033"))));
  no_color_.Set(std::nullopt);
  term_.Set("dumb");
  EXPECT_THAT(Shown(LogFormat::kAuto), AllOf(HasSubstr("warning"), Not(HasSubstr("\033"))));
}

TEST_F(LogTerminalTest, ProgressIsRewrittenInPlace) {
  const std::string shown = Shown(LogFormat::kAuto, [] {
    LogProgress("copying", "1 of 3", {{"left", 2}});
    LogProgress("copying", "2 of 3");
    LogWarning("event", "m");
    LogProgress("copying", "3 of 3");
    LogProgress("other", "\033[2J" + std::string(200, 'x'));
  });
  EXPECT_THAT(shown, StartsWith("1 of 3\r\n\033[A\033[2K2 of 3\r\n\033[2m"));
  EXPECT_THAT(shown, HasSubstr("\r\n3 of 3\r\n"));
  EXPECT_THAT(shown, Not(HasSubstr("\033[2J")));
  EXPECT_THAT(shown, Not(HasSubstr(std::string(80, 'x'))));
}

TEST_F(LogTerminalTest, ProgressIsAnOrdinaryLineOnADumbTerminal) {
  term_.Set("dumb");
  EXPECT_THAT(
      Shown(LogFormat::kAuto,
            [] {
              EXPECT_FALSE(LogReplacesProgress());
              LogProgress("copying", "1 of 3", {{"left", 2}});
            }),
      AllOf(HasSubstr("info"), HasSubstr("copying"), HasSubstr("left=2"), Not(HasSubstr("\033"))));
}

// A log reader never stalls the relay. If one of these tests fails, it hangs.
class LogPipeTest : public ::testing::Test {
 protected:
  LogPipeTest() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    reader_.reset(ends[0]);
    redirected_.emplace(ends[1]);
    ::close(ends[1]);
    StartLogging(LogLevel::kInfo, LogFormat::kJson);
  }
  ~LogPipeTest() override { StopLogging(); }

  // Stops the log and returns all lines that are still in the pipe or the queue.
  std::vector<std::string> Drain() {
    std::string text;
    std::thread drain([&] { text = ReadAll(reader_.get()); });
    StopLogging();
    redirected_.reset();
    drain.join();
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      lines.push_back(line);
    }
    return lines;
  }

  UniqueFd reader_;
  std::optional<StandardErrorTo> redirected_;
};

TEST_F(LogPipeTest, StalledReaderLosesTheOldestLinesAndTheyAreCounted) {
  constexpr int kEvents = 20'000;
  for (int i = 0; i < kEvents; ++i) {
    LogInfo("event_" + std::to_string(i), "m");
  }
  uint64_t written = 0;
  uint64_t dropped = 0;
  bool last = false;
  for (const std::string& line : Drain()) {
    const std::string event = FieldOf(line, "event");
    if (event == "lines_dropped") {
      dropped += std::stoull(FieldOf(line, "suppressed"));
    } else {
      ++written;
      last = event == "event_19999";
    }
  }
  EXPECT_TRUE(last);
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(written + dropped, uint64_t{kEvents});
}

TEST_F(LogPipeTest, AuditLinesStayInOrderAndAreNeverDropped) {
  int audited = 0;
  while (LogHasRoom()) {
    LogAudit("row_skipped", Error(ErrorCode::kKeyMissing, "m"), {{"row", audited++}});
    LogInfo("noise_" + std::to_string(audited), "m");
  }
  EXPECT_GT(audited, 10'000);
  int next = 0;
  for (const std::string& line : Drain()) {
    if (FieldOf(line, "event") == "row_skipped") {
      EXPECT_EQ(FieldOf(line, "row"), std::to_string(next++));
    }
  }
  EXPECT_EQ(next, audited);
}

TEST_F(LogPipeTest, StoppingDoesNotWaitForAStalledReader) {
  for (int i = 0; i < 2'000; ++i) {
    LogInfo("event_" + std::to_string(i), "m");
  }
  StopLogging();
  LogInfo("late", "m");
}

TEST_F(LogPipeTest, ClosedReaderUsesNoRoom) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  reader_.reset();
  for (int i = 0; i < 50'000; ++i) {
    while (!LogHasRoom()) {
      std::this_thread::yield();
    }
    LogAudit("row_skipped", Error(ErrorCode::kKeyMissing, "m"), {});
  }
  StopLogging();
  std::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace walrelay
