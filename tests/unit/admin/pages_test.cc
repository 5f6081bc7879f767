#include "admin/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/http_client.h"
#include "fakes/sole_metrics.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PagesTest : public ::testing::Test {
 protected:
  PagesTest() {
    board_.Beat(clock_.Now());
    // The board belongs to the fixture.
    list_.Set({{.name = "",
                .identity = {"0.1.0", {"db/shop", "orders"}, "orders_pub"},
                .board = std::shared_ptr<const StatusBoard>(&board_, [](const StatusBoard*) {})}});
  }

  HttpResponse Page(const std::string& path, bool verbose = false) const {
    return pages_.at(path)({.verbose = verbose});
  }
  HttpResponse Ready(bool verbose = false) const { return Page("/readyz", verbose); }
  void Publish(RelayState state, absl::Status error = {}) {
    board_.Publish({.state = state, .error = std::move(error)});
  }

  StatusBoard board_;
  PipelineList list_;
  testing::SoleMetrics metrics_;
  testing::FakeClock clock_;
  const std::map<std::string, HttpHandler> pages_ =
      StatusEndpoints(list_, /*fleet=*/false, metrics_.page(), clock_);
};

TEST_F(PagesTest, LiveWhileTheLoopRuns) {
  clock_.Advance(seconds(89));
  EXPECT_EQ(Page("/livez").status, 200u);
  EXPECT_EQ(Page("/livez").body, "alive\n");
  clock_.Advance(seconds(1));
  EXPECT_EQ(Page("/livez").status, 503u);
  EXPECT_THAT(Page("/livez").body, HasSubstr("has not run for 1 min 30 s"));
  board_.Beat(clock_.Now());
  EXPECT_EQ(Page("/livez").status, 200u);
}

// http.row_data = false.
TEST_F(PagesTest, NoPageQuotesARowIfRowDataIsOff) {
  PipelineList hidden(/*row_data=*/false);
  hidden.Set(list_.Get());
  const auto pages = StatusEndpoints(hidden, /*fleet=*/false, metrics_.page(), clock_);
  const absl::Status error = Error(ErrorCode::kKeyMissing, "SECRET has no key");
  board_.Publish({.state = RelayState::kBlocked, .error = error, .detail = "id=SECRET"});
  board_.NoteError(error, clock_.WallNow());
  for (const char* path : {"/readyz", "/status", "/status.json", "/status.txt"}) {
    EXPECT_THAT(Page(path, true).body, HasSubstr("SECRET")) << path;
    const std::string body = pages.at(path)({.verbose = true}).body;
    EXPECT_THAT(body, Not(HasSubstr("SECRET"))) << path;
    EXPECT_THAT(body, HasSubstr("WR-3004")) << path;
    EXPECT_THAT(body, HasSubstr("the log names the row")) << path;
  }
  // A gap has positions, no row.
  board_.Publish({.state = RelayState::kBlocked, .detail = "gap 1-2", .gap = Gap{}});
  EXPECT_THAT(pages.at("/readyz")({}).body, HasSubstr("gap 1-2"));
}

// A restart of the process fixes neither Postgres nor Kafka.
TEST_F(PagesTest, LiveDespiteExternalFailures) {
  for (const RelayState state :
       {RelayState::kDegraded, RelayState::kBlocked, RelayState::kStopped}) {
    Publish(state, Error(ErrorCode::kConnectionLost, "cut"));
    board_.SetSourceProblem(Error(ErrorCode::kTableNotPublished, "t"), clock_.WallNow());
    EXPECT_EQ(Page("/livez").status, 200u);
  }
}

TEST_F(PagesTest, ReadyInStatesThatNeedNoAttention) {
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

TEST_F(PagesTest, ReasonIsReported) {
  Publish(RelayState::kBlocked, Error(ErrorCode::kKeyMissing, "row 7"));
  EXPECT_EQ(Ready().body, "not ready: blocked\nWR-3004 row 7\n");
  EXPECT_THAT(Ready(true).body,
              AllOf(HasSubstr("WR-3004"), HasSubstr("row 7"), HasSubstr("what to do:")));
}

TEST_F(PagesTest, NotReadyWhileATableIsNotPublished) {
  Publish(RelayState::kStreaming);
  board_.SetSourceProblem(Error(ErrorCode::kTableNotPublished, "public.outbox"), clock_.WallNow());
  EXPECT_EQ(Ready().status, 503u);
  EXPECT_EQ(Ready().body, "not ready: streaming\nWR-2303 public.outbox\n");
  EXPECT_THAT(Ready(true).body, HasSubstr("ADD TABLE"));
}

// Messages of libraries and servers are displayed on terminals.
TEST_F(PagesTest, HostileMessageIsEscaped) {
  Publish(RelayState::kDegraded, Error(ErrorCode::kConnectionLost, "a\nready: streaming\x1b[2J"));
  for (const bool verbose : {false, true}) {
    EXPECT_THAT(Ready(verbose).body, HasSubstr("a\\x0aready: streaming\\x1b[2J"));
    EXPECT_THAT(Ready(verbose).body, Not(HasSubstr("\nready")));
  }
}

TEST_F(PagesTest, DetailIsShownOnlyInVerboseMode) {
  board_.Publish({.state = RelayState::kStreaming, .detail = "where\x1b[2J"});
  EXPECT_THAT(Ready().body, Not(HasSubstr("where")));
  EXPECT_THAT(Ready(true).body, HasSubstr("where\\x1b[2J\n"));
}

TEST_F(PagesTest, VerboseReadinessNamesSourceAndSlot) {
  EXPECT_THAT(Ready(true).body, HasSubstr("\nsource db/shop, slot orders\n"));
  EXPECT_THAT(Ready().body, Not(HasSubstr("db/shop")));
}

TEST_F(PagesTest, NotReadyWhileTheSlotIsAtCriticalRisk) {
  Publish(RelayState::kStreaming);
  SlotSample slot{.exists = true, .row = {.wal_status = "reserved"}, .risk = SlotRisk::kWarning};
  board_.SetSlot(slot, clock_.WallNow());
  EXPECT_EQ(Ready().status, 200u);
  EXPECT_THAT(Ready().body, HasSubstr("WR-2108"));
  slot.risk = SlotRisk::kCritical;
  board_.SetSlot(slot, clock_.WallNow());
  EXPECT_EQ(Ready().status, 503u);
  EXPECT_THAT(Ready(true).body, HasSubstr("[-] slot: 0 B of WAL retained, risk critical"));
}

TEST_F(PagesTest, VerboseReadinessListsTheChecks) {
  Publish(RelayState::kStreaming);
  board_.SetSlot({.exists = true}, clock_.WallNow());
  board_.SetSourceProblem(absl::OkStatus(), clock_.WallNow());
  clock_.Advance(seconds(3));
  EXPECT_EQ(Ready(true).body,
            "ready: streaming\nsource db/shop, slot orders\n[+] relay: streaming\n"
            "[+] publication and tables: as required, checked 3 s ago\n"
            "[+] slot: 0 B of WAL retained, risk none, checked 3 s ago\n");
}

TEST_F(PagesTest, MissingCheckIsReportedAsUnknown) {
  Publish(RelayState::kStarting);
  EXPECT_THAT(Ready(true).body, HasSubstr("[?] publication and tables: not checked yet\n"
                                          "[?] slot: not checked yet\n"));
  board_.SetSampleFailure(Error(ErrorCode::kPostgresUnreachable, "refused"));
  EXPECT_THAT(Ready(true).body,
              HasSubstr("[?] publication and tables: not checked yet (WR-2001 refused)\n"));
}

TEST_F(PagesTest, StaleCheckIsReportedAsUnknown) {
  Publish(RelayState::kDegraded);
  board_.SetSlot({.exists = true}, clock_.WallNow());
  board_.SetSourceProblem(absl::OkStatus(), clock_.WallNow());
  board_.SetSampleFailure(Error(ErrorCode::kPostgresUnreachable, "refused"));
  EXPECT_THAT(Ready(true).body,
              AllOf(HasSubstr("[?] publication and tables: as required, checked"),
                    HasSubstr("[?] slot: 0 B of WAL retained"), HasSubstr("(WR-2001 refused)")));
  // A successful check clears the unknown state.
  board_.SetSlot({.exists = true}, clock_.WallNow());
  board_.SetSourceProblem(absl::OkStatus(), clock_.WallNow());
  EXPECT_THAT(Ready(true).body, Not(HasSubstr("[?]")));
  // A check that hangs does not.
  clock_.Advance(seconds(46));
  EXPECT_THAT(Ready(true).body, HasSubstr("[?] publication and tables: as required, checked 46 s"));
}

// A known problem remains until a check finds it resolved.
TEST_F(PagesTest, KnownProblemRemainsWhileChecksFail) {
  Publish(RelayState::kDegraded);
  board_.SetSourceProblem(Error(ErrorCode::kTableNotPublished, "t"), clock_.WallNow());
  board_.SetSampleFailure(Error(ErrorCode::kPostgresUnreachable, "refused"));
  EXPECT_THAT(Ready(true).body, HasSubstr("[-] publication and tables: see below"));
}

TEST_F(PagesTest, ForeignHostSeesNoRowData) {
  board_.Publish({.state = RelayState::kBlocked,
                  .error = Error(ErrorCode::kKeyMissing, "row 7"),
                  .detail = "id=7"});
  for (const auto& [path, page] : pages_) {
    const HttpResponse answer = page({.verbose = true, .foreign_host = true});
    EXPECT_THAT(answer.body, AllOf(Not(HasSubstr("row 7")), Not(HasSubstr("id=7")))) << path;
    EXPECT_EQ(answer.status, path.starts_with("/status") ? 421u : Page(path).status) << path;
  }
  EXPECT_EQ(pages_.at("/readyz")({.foreign_host = true}).body, "not ready: blocked\n");
}

TEST_F(PagesTest, StartedAfterTheFirstAttempt) {
  EXPECT_EQ(Page("/startupz").status, 503u);
  for (const RelayState state : {RelayState::kStandby, RelayState::kStreaming,
                                 RelayState::kDegraded, RelayState::kBlocked}) {
    Publish(state);
    EXPECT_EQ(Page("/startupz").status, 200u);
  }
}

TEST_F(PagesTest, ProbesOfDebeziumServerWork) {
  Publish(RelayState::kBlocked);
  constexpr char kUp[] =
      "{\"status\":\"UP\",\"checks\":[{\"name\":\"walrelay\",\"status\":\"UP\"}]}\n";
  EXPECT_EQ(Page("/q/health/live").status, 200u);
  EXPECT_EQ(Page("/q/health/live").body, kUp);
  EXPECT_EQ(Page("/q/health/ready").status, 503u);
  EXPECT_EQ(Page("/q/health").status, 503u);
  EXPECT_THAT(Page("/q/health").body, HasSubstr("\"DOWN\""));
  EXPECT_EQ(Page("/healthz").body, Page("/livez").body);
  Publish(RelayState::kStandby);
  EXPECT_EQ(Page("/q/health/ready").body, kUp);
}

TEST_F(PagesTest, StatusHasThreeFormats) {
  Publish(RelayState::kStreaming);
  EXPECT_EQ(Page("/status").content_type, "text/html; charset=utf-8");
  EXPECT_THAT(Page("/status").body, HasSubstr("<h1>Events flow</h1>"));
  EXPECT_THAT(Page("/status.json").body, HasSubstr("\"state\":\"streaming\""));
  EXPECT_THAT(Page("/status.txt").body, HasSubstr("Events flow. "));
}

TEST_F(PagesTest, MetricsAreInPrometheusFormat) {
  metrics_.events_received->Increment();
  EXPECT_EQ(Page("/metrics").content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(Page("/metrics").body,
              HasSubstr("walrelay_events_received_total{slot=\"walrelay\",source=\"db/shop\"} 1"));
}

TEST_F(PagesTest, PagesAreServedOverHttp) {
  const auto server = HttpServer::Start("127.0.0.1:0", pages_);
  ASSERT_THAT(server, IsOk());
  const int port = (*server)->port();
  Publish(RelayState::kBlocked, Error(ErrorCode::kKeyMissing, "row 7"));
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/livez").status, 200);
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/readyz").status, 503);
  EXPECT_THAT(testing::HttpAsk(port, "GET", "/readyz?verbose").body, HasSubstr("what to do:"));
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/metrics").status, 200);
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/status").status, 200);
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/config").status, 404);
}

class FleetPagesTest : public ::testing::Test {
 protected:
  FleetPagesTest() {
    for (const auto& board : {orders_, payments_}) {
      board->Beat(clock_.Now());
      board->Publish({.state = RelayState::kStreaming});
    }
    List();
  }
  void List(bool payments_run = true) {
    list_.Set(
        {{"orders", {"0.1.0", {"db/orders", "s"}, "p", "orders"}, orders_, true},
         {"payments", {"0.1.0", {"db/payments", "s"}, "p", "payments"}, payments_, payments_run}});
  }
  HttpResponse Page(const std::string& path, std::string_view rest = "") const {
    return pages_.at(path)({.rest = rest});
  }

  const std::shared_ptr<StatusBoard> orders_ = std::make_shared<StatusBoard>();
  const std::shared_ptr<StatusBoard> payments_ = std::make_shared<StatusBoard>();
  PipelineList list_;
  MetricsRegistry registry_;
  testing::FakeClock clock_;
  const std::map<std::string, HttpHandler> pages_ =
      StatusEndpoints(list_, /*fleet=*/true, registry_, clock_);
};

TEST_F(FleetPagesTest, ReadyIfAllAre) {
  EXPECT_EQ(Page("/readyz").status, 200u);
  EXPECT_EQ(Page("/readyz").body, "ready: 2 of 2 pipelines\n");
  payments_->Publish(
      {.state = RelayState::kBlocked, .error = Error(ErrorCode::kKeyMissing, "row 7")});
  EXPECT_EQ(Page("/readyz").status, 503u);
  EXPECT_EQ(Page("/readyz").body,
            "not ready: 1 of 2 pipelines\npayments: not ready: blocked\nWR-3004 row 7\n");
  EXPECT_EQ(Page("/readyz/", "orders").status, 200u);
  EXPECT_EQ(Page("/readyz/", "payments").status, 503u);
  EXPECT_EQ(Page("/readyz/", "other").status, 404u);
}

TEST_F(FleetPagesTest, LiveUntilTheThreadOfAPipelineHangs) {
  clock_.Advance(seconds(90));
  orders_->Beat(clock_.Now());
  EXPECT_EQ(Page("/livez").status, 503u);
  EXPECT_EQ(Page("/livez").body, "payments: the main loop has not run for 1 min 30 s\n");
  // It ended, and is started again by the supervisor.
  List(/*payments_run=*/false);
  EXPECT_EQ(Page("/livez").status, 200u);
}

TEST_F(FleetPagesTest, StatusListsAllAndEachHasItsOwn) {
  EXPECT_THAT(Page("/status").body,
              AllOf(HasSubstr("2 of 2 pipelines ready"), HasSubstr("href=\"status/payments\"")));
  EXPECT_THAT(Page("/status.json").body, HasSubstr("\"name\":\"payments\",\"status\":{"));
  EXPECT_THAT(Page("/status.txt").body, HasSubstr("  orders    streaming"));
  EXPECT_THAT(Page("/status/", "orders").body,
              AllOf(HasSubstr("<h1>Events flow</h1>"), HasSubstr("href=\"orders.json\"")));
  EXPECT_EQ(Page("/status/", "orders.json").content_type, "application/json; charset=utf-8");
  EXPECT_THAT(Page("/status/", "payments.txt").body, HasSubstr("Events flow. "));
  EXPECT_EQ(Page("/status/", "other.txt").status, 404u);
}

TEST_F(FleetPagesTest, ForeignSiteGetsNoStatus) {
  for (const std::string path : {"/status", "/status.json", "/status.txt", "/status/"}) {
    EXPECT_EQ(pages_.at(path)({.rest = "orders", .foreign_host = true}).status, 421u) << path;
  }
}

TEST_F(FleetPagesTest, NamesAreServedOverHttp) {
  const auto server = HttpServer::Start("127.0.0.1:0", pages_);
  ASSERT_THAT(server, IsOk());
  const int port = (*server)->port();
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/status/orders.txt").status, 200);
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/status/").status, 404);
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/status/a%0ab").status, 404);
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/status/orders/x").status, 404);
  EXPECT_EQ(testing::HttpAsk(port, "GET", "/readyz/payments").status, 200);
}

}  // namespace
}  // namespace walrelay
