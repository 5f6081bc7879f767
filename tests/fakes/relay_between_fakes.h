// The real relay between a fake Postgres and a fake Kafka, on a fake clock.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_kafka.h"
#include "fakes/fake_postgres.h"
#include "fakes/fake_progress.h"
#include "fakes/sole_metrics.h"
#include "relay/relay.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay::testing {

class RelayBetweenFakes {
 public:
  // `metrics`, if given, must outlive this: they are expensive to create.
  explicit RelayBetweenFakes(SoleMetrics* metrics = nullptr)
      : own_metrics_(metrics == nullptr ? std::make_unique<SoleMetrics>() : nullptr),
        metrics_(metrics == nullptr ? *own_metrics_ : *metrics) {
    config_.pipeline.progress = ProgressRecording::kOff;  // kafka_ then has events only
    kafka_.read_progress = [this](const ProgressAddress& address) {
      return progress_.Read(address)->record;
    };
  }

  // Replaces the relay, as a restart of the process does. `snapshots`, if given, must outlive it.
  void MakeRelay(SnapshotSource* snapshots = nullptr) {
    relay_.reset();
    auto router = Router::Create(config_.source, config_.route, config_.format);
    WR_CHECK(router.ok(), "the configuration is valid");
    relay_ = std::make_unique<Relay>(Relay::Parts{.config = config_,
                                                  .clock = clock_,
                                                  .source = postgres_,
                                                  .make_sink = kafka_.Factory(),
                                                  .metrics = metrics_,
                                                  .board = board_,
                                                  .observer = {},
                                                  .seed = seed_,
                                                  .snapshots = snapshots,
                                                  .progress = &progress_,
                                                  .memory = std::exchange(memory_, {})},
                                     *std::move(router));
  }

  // Creates the relay with the current configuration, and runs it.
  void Start() {
    MakeRelay();
    Run();
  }
  // Runs turns until nothing more happens at the current time.
  void Run() {
    for (int i = 0; i < 10 && !relay_->finished(); ++i) {
      relay_->Turn();
    }
  }
  // Advances time in the steps that the relay requests.
  void Pass(Micros time) {
    const MonoTime end = clock_.Now() + time;
    while (clock_.Now() < end && !relay_->finished()) {
      const Wakeup wakeup = relay_->Turn();
      const Micros step = std::max(wakeup.at - clock_.Now(), Micros(1000));
      clock_.Advance(std::min(step, end - clock_.Now()));
    }
    Run();
  }
  static FakeRow Event(const std::string& key) {
    return {.type = "order", .key = key, .payload = "{}"};
  }
  Lsn Commit(const std::string& key) { return postgres_.Commit({Event(key)}); }
  RelayState State() {
    Pass(std::chrono::milliseconds(250));  // the status board lags by up to this much
    return board_.Read().state;
  }
  ErrorCode ShownError() const {
    const absl::Status error = board_.Read().error;
    return error.ok() ? ErrorCode{} : CodeOf(error);
  }

 private:
  const std::unique_ptr<SoleMetrics> own_metrics_;

 public:
  uint64_t seed_ = 1;                   // of the next relay
  Config config_;                       // change it before MakeRelay()
  std::optional<SourceMemory> memory_;  // what the next relay knows; of one that it replaces
  FakeClock clock_;
  FakePostgres postgres_{clock_};
  FakeKafka kafka_;
  FakeProgress progress_{kafka_};
  SoleMetrics& metrics_;
  StatusBoard board_;
  std::unique_ptr<Relay> relay_;  // last member: destroyed before the members it refers to
};

}  // namespace walrelay::testing
