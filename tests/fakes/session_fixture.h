// A pipeline, and a session, between a fake Postgres and a fake Kafka, without a relay: nothing is
// reconnected or repaired.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_kafka.h"
#include "fakes/fake_postgres.h"
#include "fakes/sole_metrics.h"
#include "publish/record_sender.h"
#include "relay/pipeline.h"
#include "relay/session.h"
#include "status/stage_latencies.h"
#include "walrelay/config.h"

namespace walrelay::testing {

class PipelineFixture : public ::testing::Test {
 protected:
  // Creates the pipeline with the current configuration; a session begins at the slot's position.
  void StartPipeline() {
    auto sink = kafka_.Factory()({.max_batch_bytes = config_.kafka.max_batch_bytes});
    auto router = Router::Create(config_.source, config_.route, config_.format);
    WR_CHECK(sink.ok() && router.ok(), "the configuration is valid");
    sink_ = *std::move(sink);
    sender_ = std::make_unique<RecordSender>(*sink_, tracker_, metrics_, clock_, nullptr);
    pipeline_ =
        std::make_unique<Pipeline>(config_, *std::move(router), tracker_, *sender_, metrics_);
    tracker_.Restart(postgres_.confirmed());
    pipeline_->StartSession(postgres_.info.tables);
  }
  absl::StatusOr<Wait> Handle(const std::string& message, Lsn start = {}) {
    return pipeline_->Handle({.sent = clock_.WallNow(), .payload = message, .start = start});
  }
  // The records in flight are lost with their producer; the stream continues at the frontier.
  void StartOver() {
    kafka_.in_flight.clear();
    pipeline_->EndSession();
    tracker_.AbandonOpen();
    sender_->SetSettledBefore(std::nullopt);
    tracker_.Reset();
    tracker_.Resume(frontier());
    pipeline_->StartSession(postgres_.info.tables);
  }
  // The connection was lost; the stream continues after the records in flight.
  void Reconnect() {
    pipeline_->EndSession();
    tracker_.AbandonOpen();
    tracker_.Resume(frontier());
    pipeline_->StartSession(postgres_.info.tables);
  }
  // Passes the reports of the producer on, as the relay does.
  void Poll() { sink_->Poll(*sender_); }
  Lsn frontier() const { return tracker_.frontier(); }

  Config config_;  // change it before the start
  FakeClock clock_;
  FakePostgres postgres_{clock_};
  FakeKafka kafka_;
  SoleMetrics metrics_;
  AckTracker tracker_;
  std::unique_ptr<Sink> sink_;
  std::unique_ptr<RecordSender> sender_;
  std::unique_ptr<Pipeline> pipeline_;
};

class SessionFixture : public PipelineFixture {
 protected:
  // Starts to stream with the current configuration. `snapshots`, if given, must outlive the
  // session.
  void Start(SnapshotSource* snapshots = nullptr) {
    StartPipeline();
    const auto info = postgres_.Open();
    WR_CHECK(info.ok() && postgres_.Start(frontier()).ok(), "the fake accepts every connection");
    recorder_ = std::make_unique<ProgressRecorder>(
        ProgressRecorder::Parts{.source_config = config_.source,
                                .pipeline_config = config_.pipeline,
                                .progress_topic = config_.progress_topic(),
                                .clock = clock_,
                                .topic = nullptr,
                                .sink = *sink_,
                                .tracker = tracker_,
                                .gaps = gaps_,
                                .metrics = metrics_});
    session_ = std::make_unique<Session>(Session::Parts{.source_config = config_.source,
                                                        .pipeline_config = config_.pipeline,
                                                        .clock = clock_,
                                                        .source = postgres_,
                                                        .pipeline = *pipeline_,
                                                        .tracker = tracker_,
                                                        .recorder = *recorder_,
                                                        .metrics = metrics_,
                                                        .stages = stages_,
                                                        .snapshots = snapshots},
                                         info->server, frontier());
    Run();
  }
  absl::Status Turn() {
    Poll();
    return session_->Turn(draining_);
  }
  // Runs turns until nothing more happens at the current time, or the session ends with result_.
  void Run() {
    for (int i = 0; i < 10 && result_.ok(); ++i) {
      result_ = Turn();
    }
  }
  // Advances time in the steps that the session requests.
  void Pass(Micros time) {
    const MonoTime end = clock_.Now() + time;
    while (clock_.Now() < end && result_.ok()) {
      result_ = Turn();
      const Micros step = std::max(session_->NextWakeup().at - clock_.Now(), Micros(1000));
      clock_.Advance(std::min(step, end - clock_.Now()));
    }
    Run();
  }
  static FakeRow Event(const std::string& key) {
    return {.type = "order", .key = key, .payload = "{}"};
  }
  Lsn Commit(const std::string& key) { return postgres_.Commit({Event(key)}); }

  StageLatencies stages_{metrics_};
  GapDetector gaps_{config_.source, clock_, tracker_};
  std::unique_ptr<ProgressRecorder> recorder_;  // records nothing
  std::unique_ptr<Session> session_;
  bool draining_ = false;
  absl::Status result_;  // why the session ended
};

}  // namespace walrelay::testing
