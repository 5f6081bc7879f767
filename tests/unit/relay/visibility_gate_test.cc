#include "relay/visibility_gate.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/fake_snapshots.h"
#include "fakes/relay_fixture.h"
#include "fakes/sole_metrics.h"
#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

XidSnapshot Before(uint64_t xmax) {
  return {.xmin = xmax, .xmax = xmax, .in_progress = {}};
}

// A gate whose first request is answered: transactions below 700 have ended.
class VisibilityGateTest : public ::testing::Test {
 protected:
  VisibilityGateTest() { Answer(700); }

  void Answer(uint64_t xmax) {
    snapshots_.Answer(Before(xmax));
    EXPECT_THAT(gate_.Turn(clock_.Now()), IsOk());
  }
  void Fail() {
    snapshots_.Fail();
    EXPECT_THAT(gate_.Turn(clock_.Now()), IsOk());
  }
  bool Admits(uint32_t xid) { return gate_.Admits(xid, clock_.Now()); }
  // Runs turns when the gate requests them, for `time`.
  void Pass(Micros time) {
    const MonoTime end = clock_.Now() + time;
    while (gate_.NextDue() <= end) {
      clock_.Advance(std::max(gate_.NextDue() - clock_.Now(), Micros(0)));
      EXPECT_THAT(gate_.Turn(clock_.Now()), IsOk());
    }
    clock_.Advance(end - clock_.Now());
  }

  testing::FakeClock clock_;
  testing::FakeSnapshots snapshots_;
  testing::SoleMetrics metrics_;
  VisibilityGate gate_{{.snapshots = snapshots_,
                        .metrics = metrics_,
                        .walsender_pid = 77,
                        .answer_timeout = seconds(10),
                        .seed = 1},
                       clock_.Now()};
};

TEST_F(VisibilityGateTest, OneSnapshotServesAllTransactionsThatEndedBeforeIt) {
  EXPECT_TRUE(Admits(650));
  EXPECT_TRUE(Admits(699));
  EXPECT_EQ(snapshots_.asked, 1u);
  EXPECT_EQ(snapshots_.walsender_pid, 77);
  EXPECT_FALSE(Admits(700));
  EXPECT_EQ(snapshots_.asked, 2u);
  Answer(750);
  EXPECT_FALSE(gate_.waiting());
  EXPECT_TRUE(Admits(700));
  EXPECT_TRUE(Admits(749));
  EXPECT_EQ(snapshots_.asked, 2u);
}

TEST_F(VisibilityGateTest, PendingRequestIsNotRepeated) {
  EXPECT_FALSE(Admits(700));
  EXPECT_FALSE(Admits(700));
  EXPECT_THAT(gate_.Turn(clock_.Now()), IsOk());
  EXPECT_EQ(snapshots_.asked, 2u);
}

TEST_F(VisibilityGateTest, RunningTransactionIsPolledWithBackOff) {
  EXPECT_FALSE(Admits(700));
  Answer(700);
  EXPECT_TRUE(gate_.waiting());
  EXPECT_EQ(gate_.NextDue(), clock_.Now() + microseconds(200));
  clock_.Advance(milliseconds(4));
  EXPECT_THAT(gate_.Turn(clock_.Now()), IsOk());
  Answer(700);
  EXPECT_EQ(gate_.NextDue(), clock_.Now() + milliseconds(1));
  clock_.Advance(hours(1));
  EXPECT_THAT(gate_.Turn(clock_.Now()), IsOk());
  Answer(700);
  EXPECT_EQ(gate_.NextDue(), clock_.Now() + milliseconds(250));
  EXPECT_THAT(MessageOf(gate_.reason(clock_.Now())), HasSubstr("transaction 700"));
}

TEST_F(VisibilityGateTest, SnapshotOlderThanTheTransactionIsRequestedAgainAtOnce) {
  EXPECT_FALSE(Admits(700));
  clock_.Advance(milliseconds(1));
  EXPECT_FALSE(Admits(705));  // another stream position: the request is older than the BEGIN
  Answer(702);
  EXPECT_TRUE(gate_.waiting());
  EXPECT_EQ(snapshots_.asked, 3u);
}

TEST_F(VisibilityGateTest, ErrorHoldsTheTransactionAndIsRetriedWithBackOff) {
  EXPECT_FALSE(Admits(700));
  Fail();
  EXPECT_TRUE(gate_.waiting());
  EXPECT_THAT(gate_.reason(clock_.Now()), HasError(ErrorCode::kVisibilityUnknown));
  EXPECT_FALSE(Admits(700));
  EXPECT_EQ(snapshots_.asked, 2u) << "not at once";
  for (int i = 0; i < 10; ++i) {
    Pass(seconds(5));
    if (snapshots_.under_way) {
      Fail();
    }
  }
  EXPECT_GE(gate_.NextDue() - clock_.Now() + seconds(5), milliseconds(2500));
  EXPECT_LE(snapshots_.asked, 14u);
  Pass(seconds(5));
  Answer(750);
  EXPECT_TRUE(Admits(700));
  EXPECT_THAT(gate_.reason(clock_.Now()), IsOk());
}

TEST_F(VisibilityGateTest, ErrorIsNotReportedWhileNothingWaits) {
  EXPECT_FALSE(Admits(700));
  Fail();
  Pass(seconds(1));
  Answer(750);
  EXPECT_TRUE(Admits(749));
  EXPECT_THAT(gate_.reason(clock_.Now()), IsOk());
  EXPECT_EQ(gate_.NextDue(), MonoTime::max());
}

TEST_F(VisibilityGateTest, SilentConnectionIsClosedAfterTheTimeout) {
  EXPECT_FALSE(Admits(700));
  const size_t closed = snapshots_.closed;
  EXPECT_EQ(gate_.NextDue(), clock_.Now() + seconds(10));
  clock_.Advance(seconds(10));
  EXPECT_THAT(gate_.Turn(clock_.Now()), IsOk());
  EXPECT_EQ(snapshots_.closed, closed + 1);
  EXPECT_TRUE(gate_.waiting());
  EXPECT_THAT(MessageOf(gate_.reason(clock_.Now())), HasSubstr("no answer"));
}

TEST_F(VisibilityGateTest, EndedStreamEndsTheSession) {
  EXPECT_FALSE(Admits(700));
  snapshots_.Fail(ErrorCode::kConnectionLost);
  EXPECT_THAT(gate_.Turn(clock_.Now()), HasError(ErrorCode::kConnectionLost));
}

// Its xids would be ambiguous 2^31 transactions later.
TEST_F(VisibilityGateTest, OldSnapshotIsNotUsed) {
  clock_.Advance(seconds(11));
  EXPECT_FALSE(Admits(650));
  Answer(800);
  EXPECT_TRUE(Admits(650));
}

// --- in the relay ---

class RelayWithGateTest : public testing::RelayFixture {
 protected:
  RelayWithGateTest() {
    config_.source.wait_visible = true;
    MakeRelay(&snapshots_);
    Run();
  }
  ~RelayWithGateTest() override { relay_.reset(); }

  // The keys of the records that the relay produced.
  std::vector<std::string> ProduceResult() {
    kafka_.AcknowledgeAll();
    Run();
    return kafka_.Keys();
  }
  // FakePostgres' transactions have xid 7.
  void Answer(uint64_t xmax) {
    snapshots_.Answer(Before(xmax));
    Run();
  }

  testing::FakeSnapshots snapshots_;
};

TEST_F(RelayWithGateTest, NothingIsProducedBeforeItIsVisible) {
  Commit("a");
  const Lsn end = Commit("b");
  Answer(7);
  EXPECT_THAT(ProduceResult(), IsEmpty());
  EXPECT_TRUE(snapshots_.under_way);
  Answer(8);
  EXPECT_THAT(ProduceResult(), ElementsAre("a", "b"));
  Pass(milliseconds(150));
  EXPECT_EQ(postgres_.confirmed(), end);
}

TEST_F(RelayWithGateTest, StatusUpdatesContinueAndTheStateNamesTheReason) {
  const Lsn before = postgres_.confirmed();
  Commit("a");
  Answer(7);
  const size_t updates = postgres_.updates.size();
  for (int i = 0; i < 40; ++i) {
    Answer(7);
    Pass(seconds(1));
  }
  EXPECT_GT(postgres_.updates.size(), updates);
  EXPECT_EQ(postgres_.confirmed(), before);
  EXPECT_TRUE(postgres_.streaming());
  EXPECT_EQ(board_.Read().state, RelayState::kDegraded);
  EXPECT_THAT(board_.Read().error, HasError(ErrorCode::kVisibilityUnknown));
  EXPECT_THAT(board_.Read().waits_for, HasSubstr("visible"));
  Answer(8);
  EXPECT_THAT(ProduceResult(), ElementsAre("a"));
}

TEST_F(RelayWithGateTest, DrainDoesNotWaitForVisibility) {
  Commit("a");
  Answer(7);
  relay_->Drain();
  Run();
  EXPECT_TRUE(relay_->finished());
  EXPECT_THAT(relay_->result(), IsOk());
  EXPECT_THAT(ProduceResult(), IsEmpty());
}

TEST_F(RelayWithGateTest, EachSessionRequestsANewSnapshot) {
  Commit("a");
  Answer(8);
  kafka_.AcknowledgeAll();
  Pass(milliseconds(150));
  const size_t asked = snapshots_.asked;
  postgres_.BreakConnection();
  Pass(seconds(1));
  EXPECT_TRUE(postgres_.streaming());
  EXPECT_EQ(snapshots_.asked, asked + 1);
  Commit("b");
  Run();
  EXPECT_THAT(ProduceResult(), ElementsAre("a"))
      << "the snapshot of the last session must not be used";
  Answer(8);
  EXPECT_THAT(ProduceResult(), ElementsAre("a", "b"));
}

TEST_F(RelayWithGateTest, EndedStreamIsReconnected) {
  Commit("a");
  snapshots_.Fail(ErrorCode::kConnectionLost);
  const size_t opens = postgres_.opens;
  Pass(seconds(1));
  EXPECT_GT(postgres_.opens, opens);
  Answer(8);
  EXPECT_THAT(ProduceResult(), ElementsAre("a"));
}

}  // namespace
}  // namespace walrelay
