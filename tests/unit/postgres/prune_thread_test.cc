#include "postgres/prune_thread.h"

#include <gtest/gtest.h>

namespace walrelay {
namespace {

PublishedProof Proof() {
  return {.progress = {.system_id = "7301",
                       .timeline = 2,
                       .ancestors = {{1, Lsn(100)}},
                       .frontier = Lsn(500),
                       .horizons = {{.xid = 900, .insert_lsn = Lsn(400), .taken = WallTime()}},
                       .published_from = {.xid = 700, .taken = WallTime()}},
          .streaming = true,
          .backend_pid = 4711};
}

TEST(PruneThreadTest, TheProofOfARunningStreamCounts) {
  const auto proof = ProofForPruning(Proof(), {.slot = "shop"});
  ASSERT_TRUE(proof.has_value());
  EXPECT_EQ(proof->xids.from.xid, 700u);
  EXPECT_EQ(proof->xids.before, 900u);
  EXPECT_EQ(proof->timeline, 2u);
  EXPECT_EQ(proof->backend_pid, 4711);
  EXPECT_EQ(proof->slot, "shop");
}

TEST(PruneThreadTest, TheProofOfAnEndedStreamDoesNot) {
  PublishedProof ended = Proof();
  ended.streaming = false;
  EXPECT_FALSE(ProofForPruning(ended, {}).has_value());
  EXPECT_FALSE(ProofForPruning(std::nullopt, {}).has_value());
}

TEST(PruneThreadTest, WithoutAHorizonNothingCounts) {
  PublishedProof fresh = Proof();
  fresh.progress.horizons.clear();
  EXPECT_FALSE(ProofForPruning(fresh, {}).has_value());
}

TEST(PruneThreadTest, AnotherLoginHasItsOwnPassword) {
  Config config;
  config.source.dsn = "host=a";
  config.source.password = Secret("x");
  config.source.password_command = {"get"};
  EXPECT_EQ(PruneLogin(config), config.source);
  config.prune.dsn = "host=b";
  config.prune.password_file = "/run/secret";
  const SourceConfig login = PruneLogin(config);
  EXPECT_EQ(login.dsn, "host=b");
  EXPECT_EQ(login.password_file, "/run/secret");
  EXPECT_TRUE(login.password.empty());
  EXPECT_TRUE(login.password_command.empty());
}

}  // namespace
}  // namespace walrelay
