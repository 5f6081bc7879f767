#include "prune/prune_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "walrelay/config/source.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;

PublishedProof Proof() {
  return {.progress = {.system_id = "7301",
                       .timeline = 2,
                       .ancestors = {{1, Lsn(100)}},
                       .frontier = Lsn(500),
                       .horizons = {{.xid = 900, .insert_lsn = Lsn(400), .taken = WallTime()}},
                       .published_from = {.xid = 700, .taken = WallTime()}},
          .current = true,
          .backend_pid = 4711,
          .server_started = WallTime(Micros(8))};
}

TEST(PruneProofTest, TheProofOfARunningStreamCounts) {
  const auto proof = ProofForPruning(Proof(), {.slot = "shop"});
  ASSERT_TRUE(proof.has_value());
  EXPECT_EQ(proof->xids.from.xid, 700u);
  EXPECT_EQ(proof->xids.before, 900u);
  EXPECT_EQ(proof->timeline, 2u);
  EXPECT_EQ(proof->backend_pid, 4711);
  EXPECT_EQ(proof->server_started, WallTime(Micros(8)));
  EXPECT_EQ(proof->slot, "shop");
  EXPECT_EQ(proof->system_id, "7301");
}

TEST(PruneProofTest, TheProofOfAnEndedStreamDoesNot) {
  PublishedProof ended = Proof();
  ended.current = false;
  EXPECT_FALSE(ProofForPruning(ended, {}).has_value());
  EXPECT_FALSE(ProofForPruning(std::nullopt, {}).has_value());
}

TEST(PruneProofTest, WithoutAHorizonNothingCounts) {
  PublishedProof fresh = Proof();
  fresh.progress.horizons.clear();
  EXPECT_FALSE(ProofForPruning(fresh, {}).has_value());
}

TEST(PruneProofTest, OlderRowsAreIncludedAsFarAsTheirXidsCanTell) {
  PruneProof proof = ProofForPruning(Proof(), {}).value();
  EXPECT_EQ(IncludeOlderRows(proof).xids.from.xid, 3u);
  proof.xids.before = (uint64_t{5} << 32) + 7;
  const PruneProof wide = IncludeOlderRows(proof);
  EXPECT_EQ(wide.xids.length(), uint32_t{1} << 31);
  EXPECT_EQ(wide.xids.before, proof.xids.before);
  EXPECT_EQ(wide.xids.from.taken, WallTime());
}

TEST(PruneProofTest, StatementsRecognizeTheServer) {
  const std::string sql = IsServerOf({.xids = {},
                                      .system_id = "1",
                                      .timeline = 26,
                                      .backend_pid = 4711,
                                      .server_started = WallTime(Micros(1732700000123456)),
                                      .slot = "a'b"});
  EXPECT_THAT(sql, HasSubstr("OPERATOR(pg_catalog.=) '0000001A'"));
  EXPECT_THAT(sql, HasSubstr("s.slot_name OPERATOR(pg_catalog.=) 'a''b'"));
  EXPECT_THAT(sql, HasSubstr("s.active_pid OPERATOR(pg_catalog.=) 4711"));
  EXPECT_THAT(sql, HasSubstr("::pg_catalog.int8 OPERATOR(pg_catalog.=) 1732700000123456"));
}

}  // namespace
}  // namespace walrelay
