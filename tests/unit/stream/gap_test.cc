#include "stream/gap.h"

#include <gtest/gtest.h>

#include "walrelay/error.h"

namespace walrelay {
namespace {

class GapTest : public ::testing::Test {
 protected:
  GapTest() {
    info_.server = {.system_id = "7301", .timeline = 1, .wal_end = Lsn(1000)};
    info_.slot = SlotInfo{.confirmed_flush_lsn = Lsn(500)};
    info_.publication_state.after = Lsn(950);
    seen_ = PublicationState{.identity = {}, .before = Lsn(300), .after = Lsn(310)};
  }
  Gap Make(ErrorCode code) { return MakeGap(Error(code, "x"), Lsn(400), seen_, &info_); }
  std::string Range(ErrorCode code) { return RangeOf(Make(code)); }

  SourceInfo info_;
  std::optional<PublicationState> seen_;
};

TEST_F(GapTest, RangeDependsOnTheKind) {
  EXPECT_EQ(Range(ErrorCode::kSlotMoved), "0/190 to 0/1F4");
  EXPECT_EQ(Range(ErrorCode::kSystemChanged), "0/190 to 0/1F4");
  EXPECT_EQ(Range(ErrorCode::kSlotGone), "0/190 to 0/3E8");
  EXPECT_EQ(Range(ErrorCode::kSlotDropped), "0/190 to 0/3E8");
  EXPECT_EQ(Range(ErrorCode::kServerBehind), "0/3E8 to 0/190");
  EXPECT_EQ(Range(ErrorCode::kSlotAheadOfLog), "0/3E8 to 0/1F4");
  EXPECT_EQ(Range(ErrorCode::kPublicationChanged), "0/12C to 0/3B6");
}

TEST_F(GapTest, RangeIsOpenWithoutServerData) {
  const Gap gap = MakeGap(Error(ErrorCode::kSlotLost, "x"), Lsn(400), seen_, nullptr);
  EXPECT_EQ(RangeOf(gap), "0/190 and later");
  EXPECT_EQ(RangeOf(MakeGap(gap.error, Lsn(), seen_, nullptr)), "not known");
}

TEST_F(GapTest, RangeWithoutAResumePositionStartsAtTheSlot) {
  EXPECT_EQ(RangeOf(MakeGap(Error(ErrorCode::kSlotLost, "x"), Lsn(), seen_, &info_)),
            "0/1F4 to 0/3E8");
}

TEST_F(GapTest, ARecordHasTheGap) {
  const Gap gap = Make(ErrorCode::kServerBehind);
  const Gap read = GapOf(RecordOf(gap));
  EXPECT_EQ(read.id, gap.id);
  EXPECT_EQ(read.from, gap.from);
  EXPECT_EQ(read.to, gap.to);
  EXPECT_EQ(CodeOf(read.error), CodeOf(gap.error));
  EXPECT_EQ(MessageOf(read.error), MessageOf(gap.error));
}

// No reading of the source shows a cluster of Kafka. Another process, which has published less,
// finds the same gap.
TEST_F(GapTest, IdIdentifiesTheClusters) {
  const auto id = [&](std::string_view message) {
    return MakeGap(Error(ErrorCode::kClusterChanged, message), Lsn(400), seen_, nullptr).id;
  };
  EXPECT_EQ(id("cluster id b, previously a"), id("cluster id b, previously a"));
  EXPECT_NE(id("cluster id b, previously a"), id("cluster id a, previously b"));
  const absl::Status changed = Error(ErrorCode::kClusterChanged, "cluster id b, previously a");
  EXPECT_EQ(MakeGap(changed, Lsn(300), seen_, nullptr).id, id(MessageOf(changed)));
}

// The proof of a server that may have lost rows, of a stream that may have lacked rows, or of a
// record that may be wrong, does not outlast the gap.
TEST_F(GapTest, OnlyGapsOfTheSlotKeepTheProof) {
  std::vector<ErrorCode> kept;
  for (const ErrorEntry& entry : ErrorCatalogue()) {
    if (entry.reaction == Reaction::kGap && KeepsProof(Error(entry.code, "x"))) {
      kept.push_back(entry.code);
    }
  }
  EXPECT_EQ(kept, (std::vector{ErrorCode::kSlotLost, ErrorCode::kSlotMoved, ErrorCode::kSlotGone,
                               ErrorCode::kSlotDropped}));
}

// The growing WAL does not change the id; another change of the slot or the publication does.
TEST_F(GapTest, IdIdentifiesTheChange) {
  const std::string gone = Make(ErrorCode::kSlotGone).id;
  const std::string moved = Make(ErrorCode::kSlotMoved).id;
  const std::string changed = Make(ErrorCode::kPublicationChanged).id;
  EXPECT_TRUE(moved.starts_with("2106-")) << moved;
  info_.server.wal_end = Lsn(2000);
  info_.publication_state.after = Lsn(1950);
  EXPECT_EQ(Make(ErrorCode::kSlotGone).id, gone);
  EXPECT_EQ(Make(ErrorCode::kSlotMoved).id, moved);
  EXPECT_EQ(Make(ErrorCode::kPublicationChanged).id, changed);
  info_.slot->confirmed_flush_lsn = Lsn(501);
  info_.publication_state.identity.xmin = 7;
  EXPECT_NE(Make(ErrorCode::kSlotMoved).id, moved);
  EXPECT_NE(Make(ErrorCode::kPublicationChanged).id, changed);
}

}  // namespace
}  // namespace walrelay
