// The supervisor with pipelines that only record what is asked of them.
#include "daemon/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/status_matchers.h"
#include "postgres/source_identity.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Outcome = PipelineChange::Outcome;

// What a test sees of a pipeline, and how it ends.
struct Seen {
  std::string name;
  Config config;
  std::shared_ptr<StatusBoard> board;
  std::shared_ptr<const Handover> handover;
  int stop_requests = 0;
  bool ended = false;
  bool destroyed = false;
  bool clients_closed = true;
  absl::Status result;
};

// Names the pipeline that made it.
struct NamedHandover final : Handover {
  explicit NamedHandover(std::string pipeline) : name(std::move(pipeline)) {}
  const std::string name;
};

class FakePipeline final : public RunningPipeline {
 public:
  explicit FakePipeline(Seen& seen) : seen_(seen) {}
  ~FakePipeline() override { seen_.destroyed = true; }
  void RequestStop() override { ++seen_.stop_requests; }
  bool ended() const override { return seen_.ended; }
  const absl::Status& result() const override { return seen_.result; }
  std::shared_ptr<const Handover> handover() const override {
    return std::make_shared<NamedHandover>(seen_.name);
  }
  bool WaitForClients(Micros) override { return seen_.clients_closed; }

 private:
  Seen& seen_;
};

class SupervisorTest : public ::testing::Test {
 protected:
  explicit SupervisorTest(bool restart = true, std::vector<PipelineFailure> failures = {})
      : supervisor_({.clock = clock_,
                     .start = [this](PipelineStart start)
                         -> absl::StatusOr<std::unique_ptr<RunningPipeline>> {
                       if (!start_error_.ok()) {
                         return start_error_;
                       }
                       starts_.push_back(std::make_unique<Seen>(Seen{.name = start.name,
                                                                     .config = *start.config,
                                                                     .board = start.board,
                                                                     .handover = start.handover}));
                       return std::make_unique<FakePipeline>(*starts_.back());
                     },
                     .list = list_,
                     .registry = registry_,
                     .wake = [] {},
                     .restart = restart,
                     .failures = std::move(failures),
                     .release =
                         [this](const PipelineIdentity& pipeline) {
                           released_.push_back(pipeline.slot);
                         }}) {}

  static PipelineSpec Spec(const std::string& name, const std::string& slot = "s") {
    Config config;
    config.source.slot = slot;
    return {.name = name, .file = name + ".toml", .config = config};
  }
  static PipelineSpec Invalid(const std::string& name) {
    return {.name = name, .file = "", .config = Error(ErrorCode::kConfigValue, "x")};
  }
  std::vector<Outcome> Apply(std::vector<PipelineSpec> specs) {
    std::vector<Outcome> outcomes;
    for (const PipelineChange& change : supervisor_.Apply(std::move(specs))) {
      outcomes.push_back(change.outcome);
    }
    return outcomes;
  }
  void End(Seen& seen, absl::Status result = absl::OkStatus()) {
    seen.result = std::move(result);
    seen.ended = true;
    supervisor_.Turn();
  }
  // Names of the pipelines that were started, in order.
  std::vector<std::string> Started() const {
    std::vector<std::string> names;
    for (const auto& seen : starts_) {
      names.push_back(seen->name);
    }
    return names;
  }
  RelayStatus StatusOf(size_t index) const { return list_.Get().at(index).board->Read(); }
  void Pass(Micros time) {
    clock_.Advance(time);
    supervisor_.Turn();
  }

  testing::FakeClock clock_;
  PipelineList list_;
  MetricsRegistry registry_;
  absl::Status start_error_;
  std::vector<std::unique_ptr<Seen>> starts_;  // in order; outlives the supervisor
  std::vector<std::string> released_;          // slots
  Supervisor supervisor_;
};

TEST_F(SupervisorTest, EachPipelineIsStartedAndListed) {
  EXPECT_THAT(Apply({Spec("a"), Spec("b")}), ElementsAre(Outcome::kStarted, Outcome::kStarted));
  EXPECT_THAT(Started(), ElementsAre("a", "b"));
  ASSERT_EQ(list_.Get().size(), 2u);
  EXPECT_EQ(list_.Get()[1].name, "b");
  EXPECT_EQ(list_.Get()[1].board, starts_[1]->board);
  EXPECT_FALSE(supervisor_.finished());
}

TEST_F(SupervisorTest, UnchangedPipelineIsNotTouched) {
  Apply({Spec("a")});
  EXPECT_THAT(Apply({Spec("a")}), ElementsAre(Outcome::kUnchanged));
  EXPECT_EQ(starts_[0]->stop_requests, 0);
}

TEST_F(SupervisorTest, FailedPipelineIsStartedAgainAndTheOthersRun) {
  Apply({Spec("a"), Spec("b")});
  End(*starts_[0], Error(ErrorCode::kNoReplicationRole, "no"));
  EXPECT_EQ(StatusOf(0).state, RelayState::kStopped);
  EXPECT_FALSE(list_.Get()[0].running);
  EXPECT_TRUE(starts_[0]->destroyed);
  ASSERT_TRUE(supervisor_.next_start().has_value());
  clock_.Advance(*supervisor_.next_start() - clock_.Now());
  supervisor_.Turn();
  EXPECT_THAT(Started(), ElementsAre("a", "b", "a"));
  EXPECT_EQ(starts_[1]->stop_requests, 0);
}

TEST_F(SupervisorTest, DelayGrowsAndStartsAgainAfterAStableRun) {
  Apply({Spec("a")});
  Micros longest{0};
  for (int i = 0; i < 12; ++i) {
    End(*starts_.back(), Error(ErrorCode::kNoReplicationRole, "no"));
    const Micros delay = *supervisor_.next_start() - clock_.Now();
    longest = std::max(longest, delay);
    Pass(delay);
  }
  EXPECT_GE(longest, seconds(30));
  EXPECT_LE(longest, seconds(60));
  clock_.Advance(minutes(2));
  End(*starts_.back(), Error(ErrorCode::kNoReplicationRole, "no"));
  EXPECT_LE(*supervisor_.next_start() - clock_.Now(), seconds(2));
}

// As with RestartPreventExitStatus: an operator must act.
TEST_F(SupervisorTest, GapThatEndedAPipelineWaitsForAReload) {
  Apply({Spec("a")});
  End(*starts_[0], Error(ErrorCode::kSlotMoved, "moved"));
  EXPECT_FALSE(supervisor_.next_start().has_value());
  Pass(minutes(10));
  EXPECT_THAT(Started(), ElementsAre("a"));
  EXPECT_THAT(StatusOf(0).error, HasError(ErrorCode::kSlotMoved));
  // The reload is the operator's decision, as a restart of the process is.
  EXPECT_THAT(Apply({Spec("a")}), ElementsAre(Outcome::kStarted));
  EXPECT_THAT(Started(), ElementsAre("a", "a"));
  EXPECT_EQ(starts_[1]->handover, nullptr);
}

TEST_F(SupervisorTest, InvalidPipelineIsListedAndDoesNotRun) {
  EXPECT_THAT(Apply({Invalid("a"), Spec("b")}), ElementsAre(Outcome::kInvalid, Outcome::kStarted));
  EXPECT_THAT(Started(), ElementsAre("b"));
  ASSERT_EQ(list_.Get().size(), 2u);
  EXPECT_FALSE(list_.Get()[0].running);
  EXPECT_THAT(StatusOf(0).error, HasError(ErrorCode::kConfigValue));
  EXPECT_THAT(Apply({Spec("a"), Spec("b")}), ElementsAre(Outcome::kStarted, Outcome::kUnchanged));
}

TEST_F(SupervisorTest, RunningPipelineKeepsItsConfigurationIfTheNewOneIsInvalid) {
  Apply({Spec("a")});
  const auto changes = supervisor_.Apply([] {
    std::vector<PipelineSpec> specs;
    specs.push_back(Invalid("a"));
    return specs;
  }());
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].outcome, Outcome::kInvalid);
  EXPECT_THAT(changes[0].error, HasError(ErrorCode::kConfigValue));
  EXPECT_EQ(starts_[0]->stop_requests, 0);
  EXPECT_TRUE(list_.Get()[0].running);
}

TEST_F(SupervisorTest, ChangedPipelineDrainsAndItsSuccessorKnowsTheSource) {
  Apply({Spec("a")});
  PipelineSpec changed = Spec("a");
  changed.config->kafka.compression = "lz4";
  const auto changes = supervisor_.Apply({changed});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].outcome, Outcome::kReplaced);
  EXPECT_THAT(changes[0].options, ElementsAre("kafka.compression"));
  EXPECT_EQ(starts_[0]->stop_requests, 1);
  EXPECT_THAT(Started(), ElementsAre("a"));
  End(*starts_[0]);
  ASSERT_THAT(Started(), ElementsAre("a", "a"));
  EXPECT_EQ(starts_[1]->config.kafka.compression, "lz4");
  ASSERT_NE(starts_[1]->handover, nullptr);
  EXPECT_EQ(dynamic_cast<const NamedHandover&>(*starts_[1]->handover).name, "a");
}

TEST_F(SupervisorTest, AnotherSlotGetsNoHandover) {
  Apply({Spec("a", "one")});
  Apply({Spec("a", "two")});
  End(*starts_[0]);
  ASSERT_EQ(starts_.size(), 2u);
  EXPECT_EQ(starts_[1]->handover, nullptr);
}

TEST_F(SupervisorTest, OtherTablesAndAnotherPublicationKeepTheHandover) {
  Apply({Spec("a")});
  PipelineSpec changed = Spec("a");
  changed.config->source.tables.push_back({.schema = "public", .name = "second"});
  changed.config->source.publication = "other";
  Apply({changed});
  End(*starts_[0]);
  ASSERT_EQ(starts_.size(), 2u);
  EXPECT_NE(starts_[1]->handover, nullptr);
}

// A second request would end the drain without confirming.
TEST_F(SupervisorTest, SecondChangeDuringADrainDoesNotStopItAtOnce) {
  Apply({Spec("a", "one")});
  Apply({Spec("a", "two")});
  Apply({Spec("a", "three")});
  EXPECT_EQ(starts_[0]->stop_requests, 1);
  End(*starts_[0]);
  EXPECT_EQ(starts_.back()->config.source.slot, "three");
}

TEST_F(SupervisorTest, RemovalDuringADrainDoesNotStopItAtOnce) {
  Apply({Spec("a", "one"), Spec("b")});
  Apply({Spec("a", "two"), Spec("b")});
  Apply({Spec("b")});
  EXPECT_EQ(starts_[0]->stop_requests, 1);
  End(*starts_[0]);
  EXPECT_THAT(Started(), ElementsAre("a", "b"));
}

TEST_F(SupervisorTest, InvalidConfigurationEndsTheWaitForARestart) {
  Apply({Spec("a")});
  End(*starts_[0], Error(ErrorCode::kNoReplicationRole, "no"));
  EXPECT_TRUE(supervisor_.next_start().has_value());
  Apply({Invalid("a")});
  EXPECT_FALSE(supervisor_.next_start().has_value());
}

TEST_F(SupervisorTest, HandoverOutlivesAStartThatFails) {
  Apply({Spec("a")});
  PipelineSpec changed = Spec("a");
  changed.config->kafka.compression = "lz4";
  Apply({changed});
  start_error_ = Error(ErrorCode::kConfigValue, "x");
  End(*starts_[0]);
  ASSERT_EQ(starts_.size(), 1u);
  start_error_ = absl::OkStatus();
  Apply({changed});
  ASSERT_EQ(starts_.size(), 2u);
  EXPECT_NE(starts_[1]->handover, nullptr);
}

TEST_F(SupervisorTest, HandoverOfAFailedStartIsNotThatOfAnotherSlot) {
  Apply({Spec("a", "one")});
  PipelineSpec changed = Spec("a", "one");
  changed.config->kafka.compression = "lz4";
  Apply({changed});
  start_error_ = Error(ErrorCode::kConfigValue, "x");
  End(*starts_[0]);
  start_error_ = absl::OkStatus();
  Apply({Spec("a", "two")});
  ASSERT_EQ(starts_.size(), 2u);
  EXPECT_EQ(starts_[1]->handover, nullptr);
}

TEST_F(SupervisorTest, ChangeThatIsTakenBackDuringADrainStartsTheOldConfiguration) {
  Apply({Spec("a", "one")});
  Apply({Spec("a", "two")});
  Apply({Spec("a", "one")});
  End(*starts_[0]);
  ASSERT_EQ(starts_.size(), 2u);
  EXPECT_EQ(starts_[1]->config.source.slot, "one");
}

TEST_F(SupervisorTest, PipelineThatIsNoLongerConfiguredDrainsAndIsNotListed) {
  Apply({Spec("a"), Spec("b")});
  EXPECT_THAT(Apply({Spec("b")}), ElementsAre(Outcome::kUnchanged, Outcome::kRemoved));
  EXPECT_EQ(starts_[0]->stop_requests, 1);
  EXPECT_THAT(Apply({Spec("b")}), ElementsAre(Outcome::kUnchanged));
  EXPECT_EQ(starts_[0]->stop_requests, 1);
  End(*starts_[0]);
  ASSERT_EQ(list_.Get().size(), 1u);
  EXPECT_EQ(list_.Get()[0].name, "b");
}

TEST_F(SupervisorTest, RemovedPipelineThatReturnsStartsAfterItsDrain) {
  Apply({Spec("a"), Spec("b")});
  Apply({Spec("b")});
  EXPECT_THAT(Apply({Spec("a"), Spec("b")}), ElementsAre(Outcome::kReplaced, Outcome::kUnchanged));
  EXPECT_EQ(starts_[0]->stop_requests, 1);
  End(*starts_[0]);
  EXPECT_THAT(Started(), ElementsAre("a", "b", "a"));
}

TEST_F(SupervisorTest, RemovedPipelineThatReturnsWithAnInvalidFileKeepsItsConfiguration) {
  Apply({Spec("a"), Spec("b")});
  Apply({Spec("b")});
  EXPECT_THAT(Apply({Invalid("a"), Spec("b")}),
              ElementsAre(Outcome::kInvalid, Outcome::kUnchanged));
  EXPECT_EQ(starts_[0]->stop_requests, 1);
  End(*starts_[0]);
  EXPECT_THAT(Started(), ElementsAre("a", "b", "a"));
  ASSERT_EQ(list_.Get().size(), 2u);
  EXPECT_TRUE(list_.Get()[0].running);
}

TEST_F(SupervisorTest, StopDrainsAllAndStartsNothing) {
  Apply({Spec("a"), Spec("b"), Spec("c")});
  End(*starts_[2], Error(ErrorCode::kNoReplicationRole, "no"));
  supervisor_.RequestStop();
  EXPECT_FALSE(supervisor_.next_start().has_value());
  EXPECT_THAT(Apply({Spec("d")}), IsEmpty());
  EXPECT_EQ(starts_[0]->stop_requests, 1);
  End(*starts_[0]);
  EXPECT_FALSE(supervisor_.finished());
  supervisor_.RequestStop();
  EXPECT_EQ(starts_[1]->stop_requests, 2);
  End(*starts_[1], absl::AbortedError("at once"));
  EXPECT_TRUE(supervisor_.finished());
  EXPECT_TRUE(absl::IsAborted(supervisor_.result()));
}

TEST_F(SupervisorTest, StopDuringAChangeLetsTheDrainGoOn) {
  Apply({Spec("a"), Spec("b")});
  Apply({Spec("a", "another slot"), Spec("b")});
  supervisor_.RequestStop();
  EXPECT_EQ(starts_[0]->stop_requests, 1);
  EXPECT_EQ(starts_[1]->stop_requests, 1);
  supervisor_.RequestStop();
  EXPECT_EQ(starts_[0]->stop_requests, 2);
  EXPECT_EQ(starts_[1]->stop_requests, 2);
}

TEST_F(SupervisorTest, CompleteDrainEndsWithSuccess) {
  Apply({Spec("a")});
  supervisor_.RequestStop();
  End(*starts_[0]);
  EXPECT_TRUE(supervisor_.finished());
  EXPECT_THAT(supervisor_.result(), IsOk());
}

TEST_F(SupervisorTest, ClientsThatCloseSlowlyAreWaitedFor) {
  Apply({Spec("a")});
  starts_[0]->clients_closed = false;
  supervisor_.RequestStop();
  End(*starts_[0]);
  ASSERT_TRUE(supervisor_.finished());
  EXPECT_FALSE(starts_[0]->destroyed);
  EXPECT_FALSE(supervisor_.WaitForClients(Micros(0)));
  starts_[0]->clients_closed = true;
  EXPECT_TRUE(supervisor_.WaitForClients(Micros(0)));
}

TEST_F(SupervisorTest, DrainMayTakeAsLongAsTheLongestTimeout) {
  PipelineSpec slow = Spec("b");
  slow.config->pipeline.drain_timeout = seconds(40);
  Apply({Spec("a"), slow});
  EXPECT_EQ(supervisor_.drain_timeout(), seconds(40));
}

// The pipelines of slot "s" ended earlier worker processes.
class FailureTest : public SupervisorTest {
 protected:
  explicit FailureTest(PipelineFailure failure)
      : SupervisorTest(/*restart=*/true, {[&failure] {
                         failure.pipeline = IdentityOf(Spec("a").config->source);
                         failure.what = "signal 6";
                         return failure;
                       }()}) {}
  // The value of a series of the pipeline; "": none.
  std::string Metric(const std::string& name) const {
    const PipelineIdentity pipeline = IdentityOf(Spec("a").config->source);
    const std::string series =
        name + "{slot=\"" + pipeline.slot + "\",source=\"" + pipeline.source + "\"} ";
    const std::string text = registry_.Text();
    const size_t begin = text.find(series);
    return begin == std::string::npos
               ? ""
               : text.substr(begin + series.size(), text.find('\n', begin) - begin - series.size());
  }
};

class LatestFailureTest : public FailureTest {
 protected:
  LatestFailureTest() : FailureTest({.times = 1, .is_latest = true}) {}
};

TEST_F(LatestFailureTest, PipelineStartsAfterTheOthers) {
  Apply({Spec("a"), Spec("b", "other")});
  EXPECT_THAT(Started(), ElementsAre("b"));
  EXPECT_THAT(StatusOf(0).error, HasError(ErrorCode::kPipelineAborted));
  EXPECT_EQ(StatusOf(0).state, RelayState::kStopped);
  ASSERT_TRUE(supervisor_.next_start().has_value());
  Pass(*supervisor_.next_start() - clock_.Now());
  EXPECT_THAT(Started(), ElementsAre("b", "a"));
  EXPECT_THAT(released_, IsEmpty());
  EXPECT_EQ(Metric("walrelay_internal_errors_total"), "1");
  // It is one of the recent errors of the running pipeline.
  const StatusSnapshot shown = list_.Get()[0].board->Snapshot();
  ASSERT_EQ(shown.errors.size(), 1u);
  EXPECT_THAT(shown.errors[0].error, HasError(ErrorCode::kPipelineAborted));
}

class IsolatedTest : public FailureTest {
 protected:
  IsolatedTest() : FailureTest({.times = 2, .isolated = true, .is_latest = true}) {}
};

TEST_F(IsolatedTest, PipelineDoesNotRunUntilAReload) {
  Apply({Spec("a"), Spec("b", "other")});
  EXPECT_FALSE(supervisor_.next_start().has_value());
  Pass(minutes(90));
  EXPECT_THAT(Started(), ElementsAre("b"));
  EXPECT_THAT(StatusOf(0).error, HasError(ErrorCode::kPipelineIsolated));
  EXPECT_EQ(StatusOf(0).waits_for, "a reload");
  EXPECT_EQ(Metric("walrelay_isolated"), "1");
  EXPECT_THAT(released_, IsEmpty());

  EXPECT_THAT(Apply({Spec("a"), Spec("b", "other")}),
              ElementsAre(Outcome::kStarted, Outcome::kUnchanged));
  EXPECT_THAT(Started(), ElementsAre("b", "a"));
  EXPECT_THAT(released_, ElementsAre("s"));
  EXPECT_EQ(Metric("walrelay_isolated"), "0");
}

TEST_F(IsolatedTest, PipelineThatWasNotConfiguredAtTheStartIsReleasedToo) {
  Apply({Spec("b", "other")});
  Apply({Spec("a"), Spec("b", "other")});
  EXPECT_THAT(Started(), ElementsAre("b", "a"));
  EXPECT_THAT(released_, ElementsAre("s"));
}

class EarlierFailureTest : public FailureTest {
 protected:
  EarlierFailureTest() : FailureTest({.times = 1}) {}
};

TEST_F(EarlierFailureTest, PipelineStartsWithTheOthers) {
  Apply({Spec("a"), Spec("b", "other")});
  EXPECT_THAT(Started(), ElementsAre("a", "b"));
  EXPECT_EQ(Metric("walrelay_internal_errors_total"), "1");
}

class SinglePipelineTest : public SupervisorTest {
 protected:
  SinglePipelineTest() : SupervisorTest(/*restart=*/false) {}
};

TEST_F(SinglePipelineTest, ProcessEndsWithItsOnlyPipeline) {
  Apply({Spec("")});
  End(*starts_[0], Error(ErrorCode::kNoReplicationRole, "no"));
  EXPECT_TRUE(supervisor_.finished());
  EXPECT_THAT(supervisor_.result(), HasError(ErrorCode::kNoReplicationRole));
}

TEST_F(SinglePipelineTest, ProcessEndsIfItsPipelineCannotStart) {
  start_error_ = Error(ErrorCode::kConfigValue, "regex");
  Apply({Spec("")});
  EXPECT_TRUE(supervisor_.finished());
  EXPECT_THAT(supervisor_.result(), HasError(ErrorCode::kConfigValue));
}

TEST_F(SinglePipelineTest, ChangeDoesNotEndTheProcess) {
  Apply({Spec("", "one")});
  Apply({Spec("", "two")});
  End(*starts_[0]);
  EXPECT_FALSE(supervisor_.finished());
  EXPECT_EQ(starts_.size(), 2u);
}

}  // namespace
}  // namespace walrelay
