// Skipped and dead-lettered rows: each is named in the log, whatever their rate and whatever the
// reader of the log does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/unique_fd.h"
#include "fakes/captured_stream.h"
#include "fakes/relay_fixture.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::CapturedStream;
using ::testing::ElementsAre;
using testing::FakeRow;
using ::testing::HasSubstr;

class SkippedRowsTest : public testing::RelayFixture {
 protected:
  SkippedRowsTest() {
    kafka_.auto_acknowledge = true;
    config_.log.format = LogFormat::kJson;
  }
  ~SkippedRowsTest() override { StopLogging(); }

  void Run(int turns = 40) {
    for (int i = 0; i < turns; ++i) {
      relay_->Turn();
      clock_.Advance(milliseconds(25));
    }
  }
  // Commits a transaction of rows without a key; the id of each row is its number.
  void CommitPoison(size_t rows) {
    postgres_.Commit(std::vector<FakeRow>(rows, FakeRow{.key = std::nullopt}));
  }
  bool IsConfirmed() const { return postgres_.confirmed() == postgres_.info.server.wal_end; }

  // The parsed log lines of an event.
  static std::vector<std::string> Ordinals(const std::string& text, const std::string& event) {
    std::vector<std::string> out;
    std::istringstream lines(text);
    simdjson::dom::parser parser;
    for (std::string line; std::getline(lines, line);) {
      const simdjson::dom::element parsed = parser.parse(line).value();
      if (std::string_view(parsed["event"].get_string().value()) == event) {
        out.push_back(simdjson::minify(parsed["ordinal"].value()));
      }
    }
    return out;
  }
  static std::vector<std::string> Numbers(size_t last) {
    std::vector<std::string> out;
    for (size_t i = 1; i <= last; ++i) {
      out.push_back(std::to_string(i));
    }
    return out;
  }
};

TEST_F(SkippedRowsTest, EachSkippedRowIsLogged) {
  config_.on_error.null_key = OnError::kSkip;
  const CapturedStream captured(stderr);
  StartLogging(LogLevel::kError, LogFormat::kJson);
  MakeRelay();
  Run();
  CommitPoison(10'000);
  postgres_.Commit({{.key = "good"}});
  Run(200);
  EXPECT_TRUE(IsConfirmed());
  StopLogging();
  EXPECT_EQ(Ordinals(captured.Text(), "row_skipped"), Numbers(10'000));
  EXPECT_EQ(captured.Text().find("blocked"), std::string::npos);  // nothing is
  EXPECT_THAT(kafka_.Keys(), ElementsAre("good"));
}

TEST_F(SkippedRowsTest, EachDeadLetterIsLoggedWithItsRow) {
  config_.on_error.null_key = OnError::kDeadLetter;
  config_.on_error.dead_letter_topic = "dead";
  const CapturedStream captured(stderr);
  StartLogging(LogLevel::kInfo, LogFormat::kJson);
  MakeRelay();
  Run();
  CommitPoison(500);
  Run(200);
  EXPECT_TRUE(IsConfirmed());
  StopLogging();
  EXPECT_EQ(Ordinals(captured.Text(), "dead_letter"), Numbers(500));
  EXPECT_THAT(captured.Text(), HasSubstr(R"("table":"public.outbox","row":"id=)"));
  EXPECT_THAT(captured.Text(), HasSubstr(R"(key=NULL","lsn":")"));
  EXPECT_THAT(captured.Text(), HasSubstr(R"(,"xid":)"));
  EXPECT_EQ(kafka_.log.size(), 500u);
}

// Standard error is not read. Publishing waits at the row whose audit line cannot be written, and
// the status reports it; the relay's turns continue.
TEST_F(SkippedRowsTest, BlockedLogDelaysOnlySkippedRows) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd before(::dup(STDERR_FILENO));
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
  config_.on_error.null_key = OnError::kSkip;
  StartLogging(LogLevel::kInfo, LogFormat::kJson);
  MakeRelay();
  Run();
  constexpr size_t kRows = 40'000;
  CommitPoison(kRows);
  postgres_.Commit({{.key = "good"}});
  Run(400);
  EXPECT_FALSE(IsConfirmed());
  EXPECT_THAT(kafka_.Keys(), ElementsAre());
  EXPECT_EQ(board_.Read().state, RelayState::kDegraded);
  EXPECT_THAT(board_.Read().error, HasError(ErrorCode::kLogBlocked));
  EXPECT_THAT(board_.Read().waits_for, HasSubstr("standard error"));

  std::string text;
  std::thread drain([&] {
    char chunk[4096];
    for (ssize_t size = 0; (size = ::read(reader.get(), chunk, sizeof(chunk))) > 0;) {
      text.append(chunk, static_cast<size_t>(size));
    }
  });
  while (!IsConfirmed()) {  // if publishing does not continue, this test does not end
    Run(1);
    std::this_thread::yield();
  }
  StopLogging();
  ::dup2(before.get(), STDERR_FILENO);
  drain.join();
  EXPECT_EQ(Ordinals(text, "row_skipped"), Numbers(kRows));
  EXPECT_THAT(kafka_.Keys(), ElementsAre("good"));
}

}  // namespace
}  // namespace walrelay
