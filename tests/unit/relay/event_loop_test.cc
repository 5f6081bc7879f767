// The event loop of a relay with real descriptors and a real clock. No test depends on elapsed
// time.
#include "relay/event_loop.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <optional>
#include <thread>

#include "base/system_clock.h"
#include "fakes/fake_kafka.h"
#include "fakes/fake_postgres.h"
#include "fakes/sole_metrics.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

class EventLoopTest : public ::testing::Test {
 protected:
  // Creates the relay and runs it until it streams.
  void Start() {
    auto router = Router::Create(config_.source, config_.route);
    ASSERT_THAT(router, IsOk());
    relay_.emplace(Relay::Parts{.config = config_,
                                .clock = clock_,
                                .source = postgres_,
                                .make_producer = kafka_.Factory(),
                                .metrics = metrics_,
                                .board = board_,
                                .observer = {},
                                .seed = 1},
                   *std::move(router));
    loop_.emplace(*relay_, postgres_, clock_, stop_);
    while (!postgres_.streaming()) {
      relay_->Turn();
    }
  }
  void Commit() { postgres_.Commit({{.type = "order", .key = "k", .payload = "{}"}}); }
  // Runs turns until an event is in flight.
  void Publish() {
    Commit();
    while (kafka_.in_flight.empty()) {
      relay_->Turn();
    }
  }

  StopRequest stop_;
  Config config_;
  SystemClock clock_;
  testing::FakePostgres postgres_{clock_};
  testing::FakeKafka kafka_;
  testing::SoleMetrics metrics_;
  StatusBoard board_;
  std::optional<Relay> relay_;
  std::optional<EventLoop> loop_;
};

TEST_F(EventLoopTest, FirstRequestDrainsAndConfirms) {
  kafka_.auto_acknowledge = true;
  Start();
  const Lsn end = postgres_.Commit({{.type = "order", .key = "k", .payload = "{}"}});
  relay_->Turn();
  stop_.Request();
  EXPECT_THAT(loop_->Run(), IsOk());
  EXPECT_EQ(kafka_.Keys(), std::vector<std::string>{"k"});
  EXPECT_EQ(postgres_.confirmed(), end);
  EXPECT_TRUE(postgres_.finished_in_order);
}

TEST_F(EventLoopTest, SecondRequestStopsAtOnceAndConfirmsNothing) {
  Start();
  const Lsn before = postgres_.confirmed();
  Publish();
  stop_.Request();
  stop_.Request();
  EXPECT_TRUE(absl::IsAborted(loop_->Run()));
  EXPECT_EQ(postgres_.confirmed(), before);
  EXPECT_EQ(kafka_.in_flight.size(), 1u);
}

TEST_F(EventLoopTest, RunReturnsTheErrorOfTheRelay) {
  config_.source.on_gap = OnGap::kExit;
  Start();
  postgres_.info.slot.reset();
  postgres_.BreakConnection();
  EXPECT_THAT(loop_->Run(), HasError(ErrorCode::kSlotGone));
}

TEST_F(EventLoopTest, AnotherThreadReportsTheRetainedLimit) {
  config_.source.max_retained_wal = 1;
  config_.source.on_retained_limit = OnRetainedLimit::kDropSlot;
  config_.source.on_gap = OnGap::kExit;
  Start();
  postgres_.info.slot->restart_lsn = Lsn(1);
  std::thread sampler([this] { loop_->Report(EventLoop::ServerEvent::kRetainedLimit); });
  EXPECT_THAT(loop_->Run(), HasError(ErrorCode::kSlotDropped));
  sampler.join();
  EXPECT_FALSE(postgres_.info.slot);
}

TEST_F(EventLoopTest, ServerShutdownReportedByAnotherThreadClosesTheStream) {
  Start();
  postgres_.open_error = Error(ErrorCode::kPostgresShuttingDown, "x");  // for the reconnect
  std::thread sampler([&] {
    loop_->Report(EventLoop::ServerEvent::kServerShutdown);
    while (board_.Read().state != RelayState::kDegraded) {
      ::sched_yield();
    }
    stop_.Request();
  });
  EXPECT_THAT(loop_->Run(), IsOk());
  sampler.join();
}

}  // namespace
}  // namespace walrelay
