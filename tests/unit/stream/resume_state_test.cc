#include "stream/resume_state.h"

#include <gtest/gtest.h>

#include <variant>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

class ResumeStateTest : public ::testing::Test {
 protected:
  // This process has streamed from the same server before.
  ResumeState& Remember(uint64_t frontier, uint64_t resume) {
    memory_ = ResumeState{.system_id = "7301", .timeline = 1, .frontier = Lsn(frontier)};
    std::get<LeftByStream>(memory_->source).resume = Lsn(resume);
    return *memory_;
  }
  void ForkAt(Lsn end) {
    server_.timeline = 2;
    server_.ancestors = {{1, end}};
  }
  absl::Status Check() const { return CheckServer(memory_, server_); }

  std::optional<ResumeState> memory_;
  ServerInfo server_{.system_id = "7301", .timeline = 1, .wal_end = Lsn(1000)};
};

// The WAL of a server that was restored may have grown past the positions that it had sent.
TEST_F(ResumeStateTest, AServerThatAssignsXidsAgainWasRestored) {
  Remember(400, 400).horizons = {{.xid = 730}, {.xid = 737}};
  server_.next_xid = 736;
  EXPECT_THAT(Check(), HasError(ErrorCode::kServerBehind, "has xid 736, but all before 737"));
  server_.next_xid = 737;
  EXPECT_THAT(Check(), IsOk());
  server_.next_xid = 0;  // not known
  EXPECT_THAT(Check(), IsOk());
  server_.next_xid = 736;  // a promoted standby may lack the last transactions
  ForkAt(Lsn(1000));
  EXPECT_THAT(Check(), IsOk());
}

// The server had sent the BEGIN of a transaction whose COMMIT is behind the end of its WAL.
TEST_F(ResumeStateTest, NeverStartsAfterATransactionThatTheWalLacks) {
  LeftByStream& stream = std::get<LeftByStream>(Remember(600, 600).source);
  stream.unfinished = {.transaction = {.commit_lsn = Lsn(1001), .xid = 8},
                       .next = {Lsn(1001), Lsn(850), 2}};
  EXPECT_THAT(Check(), HasError(ErrorCode::kServerBehind));
}

TEST_F(ResumeStateTest, OlderTimelineIsRejected) {
  Remember(600, 600).timeline = 3;
  EXPECT_THAT(Check(), HasError(ErrorCode::kTimelineChanged));
}

TEST_F(ResumeStateTest, CommonWalEndsAtTheForkOrNowhere) {
  Remember(600, 600);
  EXPECT_EQ(CommonWalEnd(*memory_, server_), kEndless);
  ForkAt(Lsn(550));
  EXPECT_EQ(CommonWalEnd(*memory_, server_), Lsn(550));
  server_.timeline = 3;
  server_.ancestors.clear();
  EXPECT_EQ(CommonWalEnd(*memory_, server_), Lsn());
}

}  // namespace
}  // namespace walrelay
