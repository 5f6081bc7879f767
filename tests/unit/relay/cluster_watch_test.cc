#include "relay/cluster_watch.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"

namespace walrelay {
namespace {

TEST(ClusterWatchTest, FirstAnswerIsRemembered) {
  ClusterWatch watch;
  EXPECT_THAT(watch.OnCluster(""), IsOk());
  EXPECT_THAT(watch.OnCluster("one"), IsOk());
  EXPECT_EQ(watch.id(), "one");
  EXPECT_THAT(watch.OnCluster("one"), IsOk());
}

TEST(ClusterWatchTest, OtherClusterIsAnErrorUntilItIsAccepted) {
  ClusterWatch watch;
  watch.OnRecord("one");
  EXPECT_THAT(watch.OnCluster("two"), HasError(ErrorCode::kClusterChanged, "previously one"));
  EXPECT_THAT(watch.OnCluster("one"), HasError(ErrorCode::kClusterChanged));
  EXPECT_THAT(watch.OnCluster(""), HasError(ErrorCode::kClusterChanged));
  watch.Accept();
  EXPECT_EQ(watch.id(), "two");
  EXPECT_THAT(watch.OnCluster("two"), IsOk());
  EXPECT_THAT(watch.OnCluster("one"), HasError(ErrorCode::kClusterChanged));
}

// The gap was found in a record, before this relay has asked.
TEST(ClusterWatchTest, AcceptanceBeforeAnAnswerLetsTheNextOneCount) {
  ClusterWatch watch;
  watch.OnRecord("one");
  watch.Accept();
  EXPECT_THAT(watch.OnCluster("two"), IsOk());
  EXPECT_EQ(watch.id(), "two");
}

TEST(ClusterWatchTest, AcceptanceOnAnotherInstanceNamesTheCluster) {
  ClusterWatch watch;
  watch.OnRecord("one");
  EXPECT_THAT(watch.OnCluster("two"), HasError(ErrorCode::kClusterChanged));
  watch.OnAcceptedElsewhere("three");
  watch.Accept();
  EXPECT_EQ(watch.id(), "three");
}

TEST(ClusterWatchTest, RecordWithoutAClusterChangesNothing) {
  ClusterWatch watch;
  watch.OnRecord("one");
  watch.OnRecord("");
  EXPECT_EQ(watch.id(), "one");
}

}  // namespace
}  // namespace walrelay
