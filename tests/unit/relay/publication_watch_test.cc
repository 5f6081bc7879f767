#include "relay/publication_watch.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/fake_postgres.h"
#include "fakes/status_matchers.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using std::chrono::seconds;

class PublicationWatchTest : public ::testing::Test {
 protected:
  PublicationWatchTest() {
    info().publication_state.before = Lsn(500);
    watch_.Remember(info(), now());
  }
  SourceInfo& info() { return postgres_.info; }
  MonoTime now() const { return clock_.Now(); }
  // Another reading, in which the publication was altered.
  PublicationState Altered() {
    PublicationState state = info().publication_state;
    ++state.identity.xmin;
    return state;
  }

  testing::FakeClock clock_;
  testing::FakePostgres postgres_{clock_};
  const std::string name_ = Config().source.publication;
  PublicationWatch watch_{name_};
};

TEST_F(PublicationWatchTest, ReadingWithAProblemIsNotRemembered) {
  PublicationWatch watch(name_);
  info().publication = PublicationInfo();
  watch.Remember(info(), now());
  EXPECT_FALSE(watch.state().has_value());
  EXPECT_FALSE(watch.seen().has_value());
}

TEST_F(PublicationWatchTest, ChangeSeenByAnotherConnectionContradicts) {
  ASSERT_TRUE(watch_.state().has_value());
  EXPECT_FALSE(watch_.Contradicts(info().publication_state, now(), true));
  EXPECT_TRUE(watch_.Contradicts(Altered(), now(), true));
  EXPECT_FALSE(watch_.Contradicts(Altered(), now() - seconds(1), true)) << "an older reading";
}

TEST_F(PublicationWatchTest, ChangeIsRememberedWhileAnotherProcessIsResponsible) {
  EXPECT_FALSE(watch_.Contradicts(Altered(), now(), false));
  EXPECT_EQ(watch_.state()->identity.xmin, Altered().identity.xmin);
  EXPECT_EQ(watch_.seen()->name, name_);
}

TEST_F(PublicationWatchTest, SameReadingIsDisputedOnce) {
  EXPECT_TRUE(watch_.Dispute(Altered().identity));
  EXPECT_FALSE(watch_.Dispute(Altered().identity));
  watch_.EndDispute();
  EXPECT_TRUE(watch_.Dispute(Altered().identity));
}

// A leaf that is logged again leaves no trace.
TEST_F(PublicationWatchTest, HiddenRowsAreKnownUntilTheyAreAccepted) {
  const absl::Status hidden = Error(ErrorCode::kPublicationChanged, "public.p1 is unlogged");
  EXPECT_THAT(watch_.OnCompared(absl::OkStatus(), true), IsOk());
  EXPECT_THAT(watch_.OnCompared(hidden, true), HasError(ErrorCode::kPublicationChanged));
  EXPECT_THAT(watch_.OnCompared(absl::OkStatus(), true), HasError(ErrorCode::kPublicationChanged));
  EXPECT_THAT(watch_.OnCompared(absl::OkStatus(), false), IsOk());
  EXPECT_THAT(watch_.OnCompared(Error(ErrorCode::kSlotMoved, "x"), true),
              HasError(ErrorCode::kSlotMoved));
  EXPECT_FALSE(watch_.Contradicts(Altered(), now(), true)) << "the gap begins before them";
  watch_.Accept();
  EXPECT_THAT(watch_.OnCompared(absl::OkStatus(), true), IsOk());
  EXPECT_FALSE(watch_.state().has_value());
}

TEST_F(PublicationWatchTest, PositionOnlyMovesBack) {
  watch_.SeenBefore(Lsn(501));
  EXPECT_EQ(watch_.state()->before, Lsn(500));
  watch_.SeenBefore(Lsn(499));
  EXPECT_EQ(watch_.state()->before, Lsn(499));
}

TEST_F(PublicationWatchTest, SuccessorKnowsThePublicationOfTheSameName) {
  (void)watch_.OnCompared(Error(ErrorCode::kPublicationChanged, "x"), true);
  PublicationWatch successor(name_);
  successor.Restore(watch_.memory());
  EXPECT_TRUE(successor.state().has_value());
  EXPECT_THAT(successor.OnCompared(absl::OkStatus(), true),
              HasError(ErrorCode::kPublicationChanged));
  const std::string other = "other";
  PublicationWatch another(other);
  another.Restore(watch_.memory());
  EXPECT_FALSE(another.state().has_value());
}

}  // namespace
}  // namespace walrelay
