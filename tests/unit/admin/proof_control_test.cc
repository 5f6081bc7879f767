#include "admin/proof_control.h"

#include <gtest/gtest.h>

#include "walrelay/error.h"

namespace walrelay {
namespace {

PublishedProof Proof() {
  return {.progress = {.system_id = "7301",
                       .timeline = 2,
                       .ancestors = {{1, Lsn(100)}},
                       .frontier = Lsn(500),
                       .horizons = {{.xid = 900, .insert_lsn = Lsn(400), .taken = WallTime()}},
                       .published_from = {.xid = 700, .taken = WallTime(Micros(5))}},
          .current = true,
          .backend_pid = 4711,
          .server_started = WallTime(Micros(8))};
}

TEST(ProofControlTest, AnAnswerHasTheProof) {
  const auto parsed = ParsePublished(AnswerPublished(Proof()));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_TRUE(parsed->has_value());
  EXPECT_TRUE((*parsed)->current);
  EXPECT_EQ((*parsed)->backend_pid, 4711);
  EXPECT_EQ((*parsed)->server_started, WallTime(Micros(8)));
  const Progress& progress = (*parsed)->progress;
  EXPECT_EQ(progress.system_id, "7301");
  EXPECT_EQ(progress.timeline, 2u);
  EXPECT_EQ(progress.frontier, Lsn(500));
  EXPECT_EQ(progress.horizons, Proof().progress.horizons);
  EXPECT_EQ(progress.published_from, Proof().progress.published_from);
}

TEST(ProofControlTest, AnEndedStreamProvesNothing) {
  PublishedProof ended = Proof();
  ended.current = false;
  EXPECT_EQ(AnswerPublished(ended), "none");
  EXPECT_EQ(AnswerPublished(std::nullopt), "none");
  const auto parsed = ParsePublished("none");
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed->has_value());
}

TEST(ProofControlTest, AnswersOfOtherVersionsAreErrors) {
  for (const char* answer :
       {"unknown\nThis version of walrelay does not support this request.\n", "proof", "proof \n",
        "proof 1\n", "proof x 1\n", "proof 1x 1\n", "proof 99999999999 1\n", "proof 1 \n", ""}) {
    EXPECT_EQ(CodeOf(ParsePublished(answer).status()), ErrorCode::kRelaySilent) << answer;
  }
  EXPECT_EQ(CodeOf(ParsePublished("proof 1 2\nx").status()), ErrorCode::kProgressUnreadable);
}

}  // namespace
}  // namespace walrelay
