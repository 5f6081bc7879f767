#include "base/failure_report.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <functional>
#include <thread>

#include "base/check.h"
#include "base/log.h"
#include "base/unique_fd.h"

namespace walrelay {
namespace {

class FailureReportDeathTest : public ::testing::Test {
 protected:
  FailureReportDeathTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    parent_.reset(ends[0]);
    process_.reset(ends[1]);
  }

  // Runs `body`, which must fail with `signal`, in a process of its own.
  void Die(int signal, const std::function<void()>& body) {
    EXPECT_EXIT(
        {
          ReportFailuresTo(process_.get());
          body();
        },
        ::testing::KilledBySignal(signal), "");
  }
  std::optional<FailureReport> Report() {
    std::array<char, 4096> bytes;
    const ssize_t size = ::recv(parent_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return size < 0 ? std::nullopt : ParseFailureReport({bytes.data(), static_cast<size_t>(size)});
  }

  UniqueFd parent_;
  UniqueFd process_;
};

TEST_F(FailureReportDeathTest, FailedCheckIsReportedWithThePipelineOfItsThread) {
  Die(SIGABRT, [] {
    const LogScope scope(PipelineIdentity{.source = "host/db", .slot = "s"});
    std::thread(InLogScope([] { WR_CHECK(1 > 2, "one is less"); })).join();
  });
  const auto report = Report();
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->pipeline, (PipelineIdentity{.source = "host/db", .slot = "s"}));
  EXPECT_TRUE(report->what.starts_with("internal error at ")) << report->what;
  EXPECT_TRUE(report->what.ends_with(": 1 > 2 does not hold (one is less)")) << report->what;
  EXPECT_FALSE(Report().has_value());
}

TEST_F(FailureReportDeathTest, SignalOfAThreadWithoutAPipelineIsReported) {
  Die(SIGSEGV, [] { (void)::raise(SIGSEGV); });
  const auto report = Report();
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->pipeline.has_value());
  EXPECT_EQ(report->what, "signal 11 (SIGSEGV)");
}

TEST_F(FailureReportDeathTest, LongNamesAreCut) {
  Die(SIGABRT, [] {
    const LogScope scope(PipelineIdentity{.source = std::string(2000, 'd'), .slot = "s"});
    std::abort();
  });
  const auto report = Report();
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->pipeline->source, std::string(512, 'd'));
  EXPECT_EQ(report->pipeline->slot, "s");
}

TEST_F(FailureReportDeathTest, FullSocketDoesNotDelayTheEnd) {
  while (::send(process_.get(), "x", 1, MSG_DONTWAIT) == 1) {
  }
  Die(SIGABRT, [] { std::abort(); });
}

TEST(FailureReportTest, OtherMessagesAreNoReport) {
  for (const std::string_view message :
       {std::string_view(""), std::string_view("F"), std::string_view("N\0a\0b\0c\0", 8),
        std::string_view("F\x06"),
        std::string_view("F\x06"
                         "a\0b\0c",
                         7)}) {
    EXPECT_FALSE(ParseFailureReport(message).has_value()) << message;
  }
}

}  // namespace
}  // namespace walrelay
