#include "cli/health_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_clock.h"
#include "support/http_client.h"
#include "support/status_matchers.h"

namespace walrelay {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class HealthPagesTest : public ::testing::Test {
 protected:
  HealthPagesTest() { board_.Beat(clock_.Now()); }

  HttpResponse Page(const std::string& path, bool verbose = false) const {
    return pages_.at(path)(verbose);
  }
  HttpResponse Ready(bool verbose = false) const { return Page("/readyz", verbose); }
  void Publish(RelayState state, absl::Status error = {}) {
    board_.Publish({.state = state, .error = std::move(error)});
  }

  StatusBoard board_;
  Metrics metrics_{"walrelay"};
  testing::FakeClock clock_;
  const std::map<std::string, HttpHandler> pages_ = HealthPages(board_, metrics_, clock_);
};

TEST_F(HealthPagesTest, AliveAsLongAsTheLoopRuns) {
  clock_.Advance(seconds(89));
  EXPECT_EQ(Page("/livez").status, 200u);
  EXPECT_EQ(Page("/livez").body, "alive\n");
  clock_.Advance(seconds(1));
  EXPECT_EQ(Page("/livez").status, 503u);
  EXPECT_THAT(Page("/livez").body, HasSubstr("has not run for 1m30s"));
  board_.Beat(clock_.Now());
  EXPECT_EQ(Page("/livez").status, 200u);
}

// To end the process mends neither Postgres nor Kafka.
TEST_F(HealthPagesTest, AliveWhateverIsWrongOutside) {
  for (const RelayState state :
       {RelayState::kDegraded, RelayState::kBlocked, RelayState::kStopped}) {
    Publish(state, Error(ErrorCode::kConnectionLost, "cut"));
    board_.SetSourceProblem(Error(ErrorCode::kTableNotPublished, "t"));
    EXPECT_EQ(Page("/livez").status, 200u);
  }
}

TEST_F(HealthPagesTest, ReadyWhereNothingNeedsAttention) {
  for (const RelayState state :
       {RelayState::kStandby, RelayState::kCatchingUp, RelayState::kStreaming}) {
    Publish(state);
    EXPECT_EQ(Ready().status, 200u);
    EXPECT_EQ(Ready().body, "ready: " + std::string(NameOf(state)) + "\n");
  }
  for (const RelayState state : {RelayState::kStarting, RelayState::kDegraded, RelayState::kBlocked,
                                 RelayState::kDraining, RelayState::kStopped}) {
    Publish(state);
    EXPECT_EQ(Ready().status, 503u);
    EXPECT_EQ(Ready().body, "not ready: " + std::string(NameOf(state)) + "\n");
  }
}

TEST_F(HealthPagesTest, ReasonIsTold) {
  Publish(RelayState::kBlocked, Error(ErrorCode::kKeyMissing, "row 7"));
  EXPECT_EQ(Ready().body, "not ready: blocked\nWR-3004 row 7\n");
  EXPECT_THAT(Ready(true).body,
              AllOf(HasSubstr("WR-3004"), HasSubstr("row 7"), HasSubstr("what to do:")));
}

TEST_F(HealthPagesTest, TableThatIsNotPublishedIsNotReadyThoughItStreams) {
  Publish(RelayState::kStreaming);
  board_.SetSourceProblem(Error(ErrorCode::kTableNotPublished, "public.outbox"));
  EXPECT_EQ(Ready().status, 503u);
  EXPECT_EQ(Ready().body, "not ready: streaming\nWR-2303 public.outbox\n");
  EXPECT_THAT(Ready(true).body, HasSubstr("ADD TABLE"));
}

// What a library or a server said goes to somebody's terminal.
TEST_F(HealthPagesTest, HostileMessageStaysOnItsLineAndSteersNothing) {
  Publish(RelayState::kDegraded, Error(ErrorCode::kConnectionLost, "a\nready: streaming\x1b[2J"));
  for (const bool verbose : {false, true}) {
    EXPECT_THAT(Ready(verbose).body, HasSubstr("a\\x0aready: streaming\\x1b[2J"));
    EXPECT_THAT(Ready(verbose).body, Not(HasSubstr("\nready")));
  }
}

TEST_F(HealthPagesTest, DetailIsForThoseWhoAsk) {
  board_.Publish({.state = RelayState::kStreaming, .detail = "where\x1b[2J"});
  EXPECT_THAT(Ready().body, Not(HasSubstr("where")));
  EXPECT_THAT(Ready(true).body, HasSubstr("where\\x1b[2J\n"));
}

TEST_F(HealthPagesTest, MetricsAreInPrometheusFormat) {
  metrics_.events_received->Increment();
  EXPECT_EQ(Page("/metrics").content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(Page("/metrics").body,
              HasSubstr("walrelay_events_received_total{slot=\"walrelay\"} 1"));
}

TEST_F(HealthPagesTest, AreServed) {
  const auto server = HttpServer::Start("127.0.0.1:0", pages_);
  ASSERT_THAT(server, IsOk());
  const int port = (*server)->port();
  Publish(RelayState::kBlocked, Error(ErrorCode::kKeyMissing, "row 7"));
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/livez").status, 200);
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/readyz").status, 503);
  EXPECT_THAT(testing::HttpAsk(port, "GET", "/readyz?verbose").body, HasSubstr("what to do:"));
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/metrics").status, 200);
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/status").status, 404);
}

}  // namespace
}  // namespace walrelay
