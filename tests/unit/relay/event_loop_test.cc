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
#include "walrelay/config.h"

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
                                .make_sink = kafka_.Factory(),
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
  // Runs the loop until the relay has finished; a stop request drains it.
  absl::Status Run() {
    while (!relay_->finished()) {
      if (stop_.Take()) {
        relay_->Drain();
      }
      loop_->Turn();
    }
    return relay_->result();
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

TEST_F(EventLoopTest, RequestEndsASleep) {
  Start();
  stop_.Request();
  loop_->Turn();
  EXPECT_TRUE(stop_.Take());
}

TEST_F(EventLoopTest, DrainConfirms) {
  kafka_.auto_acknowledge = true;
  Start();
  const Lsn end = postgres_.Commit({{.type = "order", .key = "k", .payload = "{}"}});
  relay_->Turn();
  stop_.Request();
  EXPECT_THAT(Run(), IsOk());
  EXPECT_EQ(kafka_.Keys(), std::vector<std::string>{"k"});
  EXPECT_EQ(postgres_.confirmed(), end);
  EXPECT_TRUE(postgres_.finished_in_order);
}

TEST_F(EventLoopTest, RelayMayFinishByItself) {
  config_.source.on_gap = OnGap::kExit;
  Start();
  postgres_.info.slot.reset();
  postgres_.BreakConnection();
  EXPECT_THAT(Run(), HasError(ErrorCode::kSlotGone));
}

TEST_F(EventLoopTest, AnotherThreadReportsTheRetainedLimit) {
  config_.source.max_retained_wal = 1;
  config_.source.on_retained_limit = OnRetainedLimit::kDropSlot;
  config_.source.on_gap = OnGap::kExit;
  Start();
  postgres_.info.slot->restart_lsn = Lsn(1);
  std::thread sampler([this] { loop_->Report(EventLoop::ServerEvent::kRetainedLimit); });
  EXPECT_THAT(Run(), HasError(ErrorCode::kSlotDropped));
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
  EXPECT_THAT(Run(), IsOk());
  sampler.join();
}

}  // namespace
}  // namespace walrelay
