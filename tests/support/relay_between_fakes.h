// The real relay between a Postgres and a Kafka that do as the test says, on a clock that moves
// when told.
#pragma once

#include <memory>
#include <utility>

#include "base/check.h"
#include "metrics/metrics.h"
#include "relay/relay.h"
#include "support/fake_clock.h"
#include "support/fake_kafka.h"
#include "support/fake_postgres.h"

namespace walrelay::testing {

class RelayBetweenFakes {
 public:
  // `metrics`, if given, must outlive this: they are dear to make.
  explicit RelayBetweenFakes(Metrics* metrics = nullptr)
      : own_metrics_(metrics == nullptr ? std::make_unique<Metrics>("walrelay") : nullptr),
        metrics_(metrics == nullptr ? *own_metrics_ : *metrics) {}

  // A new process in the place of the one there is.
  void MakeRelay() {
    relay_.reset();
    auto router = Router::Create(config_.source, config_.route, config_.format);
    WR_CHECK(router.ok(), "the configuration is good");
    relay_ = std::make_unique<Relay>(Relay::Parts{.config = config_,
                                                  .clock = clock_,
                                                  .source = postgres_,
                                                  .make_producer = kafka_.Factory(),
                                                  .metrics = metrics_,
                                                  .board = board_,
                                                  .observer = {},
                                                  .seed = 1},
                                     *std::move(router));
  }

 private:
  const std::unique_ptr<Metrics> own_metrics_;

 public:
  Config config_;  // to be changed before MakeRelay()
  FakeClock clock_;
  FakePostgres postgres_{clock_};
  FakeKafka kafka_;
  Metrics& metrics_;
  StatusBoard board_;
  std::unique_ptr<Relay> relay_;  // last: goes before what it refers to
};

}  // namespace walrelay::testing
