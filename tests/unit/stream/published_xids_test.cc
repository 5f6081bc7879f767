#include "stream/published_xids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using std::chrono::seconds;
using ::testing::Eq;
using ::testing::Optional;

class PublishedXidsTest : public ::testing::Test {
 protected:
  PublishedXidsTest() {
    record_ = {.system_id = "7301",
               .timeline = 1,
               .frontier = Lsn(500),
               .horizons = {At(700, 200), At(800, 300), At(900, 400)},
               .published_from = {.xid = 650, .taken = WallTime(seconds(650))}};
    server_ = {.system_id = "7301", .timeline = 1, .wal_end = Lsn(1000)};
  }

  static XidHorizon At(uint64_t xid, uint64_t lsn) {
    return {.xid = xid, .insert_lsn = Lsn(lsn), .taken = WallTime(seconds(xid))};
  }
  PublishedXids UpTo(uint64_t xid) const {
    return {.from = record_.published_from, .before = xid, .as_of = WallTime(seconds(xid))};
  }
  std::optional<PublishedXids> Published() const { return PublishedXidsOf(record_, server_); }

  Progress record_;
  ServerInfo server_;
};

TEST_F(PublishedXidsTest, EndsAtTheNewestHorizon) {
  EXPECT_THAT(Published(), Optional(UpTo(900)));
}

TEST_F(PublishedXidsTest, AfterAPromotionHorizonsBeforeTheForkCount) {
  server_.timeline = 2;
  server_.ancestors = {{1, Lsn(300)}};
  EXPECT_THAT(Published(), Optional(UpTo(800)));
  server_.ancestors = {{1, Lsn(299)}};
  EXPECT_THAT(Published(), Optional(UpTo(700)));
}

TEST_F(PublishedXidsTest, NothingIsProvenWithoutAHorizonBeforeTheFork) {
  server_.timeline = 2;
  server_.ancestors = {{1, Lsn(199)}};
  EXPECT_THAT(Published(), Eq(std::nullopt));
}

TEST_F(PublishedXidsTest, NothingIsProvenForAnotherSystem) {
  server_.system_id = "7302";
  EXPECT_THAT(Published(), Eq(std::nullopt));
}

TEST_F(PublishedXidsTest, NothingIsProvenForATimelineThatIsNoDescendant) {
  server_.timeline = 3;
  EXPECT_THAT(Published(), Eq(std::nullopt));
}

TEST_F(PublishedXidsTest, NothingIsProvenForAServerThatLacksRecordedWal) {
  server_.wal_end = Lsn(499);
  EXPECT_THAT(Published(), Eq(std::nullopt));
}

TEST_F(PublishedXidsTest, NothingIsProvenWithoutABeginning) {
  record_.published_from = {};
  EXPECT_THAT(Published(), Eq(std::nullopt));
}

TEST_F(PublishedXidsTest, NothingIsProvenByAHorizonFromBeforeTheBeginning) {
  record_.published_from.xid = 900;
  EXPECT_THAT(Published(), Eq(std::nullopt));
}

constexpr uint64_t kEpoch = uint64_t{1} << 32;

TEST_F(PublishedXidsTest, IncludeTheirBeginningAndNotTheirEnd) {
  const PublishedXids xids = UpTo(900);
  EXPECT_FALSE(xids.Include(649));
  EXPECT_TRUE(xids.Include(650));
  EXPECT_TRUE(xids.Include(899));
  EXPECT_FALSE(xids.Include(900));
}

TEST_F(PublishedXidsTest, IncludeXidsAcrossTheWraparound) {
  record_.published_from.xid = 5 * kEpoch - 10;
  const PublishedXids xids = UpTo(5 * kEpoch + 10);
  EXPECT_TRUE(xids.Include(static_cast<uint32_t>(kEpoch - 10)));
  EXPECT_TRUE(xids.Include(9));
  EXPECT_FALSE(xids.Include(10));
  EXPECT_FALSE(xids.Include(static_cast<uint32_t>(kEpoch - 11)));
}

// A row that is not frozen is less than 2^31 transactions old.
TEST_F(PublishedXidsTest, DoNotIncludeNewerRowsHoweverLongTheyAre) {
  const PublishedXids xids = UpTo(7 * kEpoch + 1000);
  EXPECT_EQ(xids.length(), kEpoch / 2);
  EXPECT_TRUE(xids.Include(999));
  EXPECT_FALSE(xids.Include(1000));
  EXPECT_FALSE(xids.Include(1000 + static_cast<uint32_t>(kEpoch / 2) - 1));
}

}  // namespace
}  // namespace walrelay
