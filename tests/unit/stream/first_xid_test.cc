#include "stream/first_xid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walrelay {
namespace {

using ::testing::Eq;
using ::testing::Optional;

class FirstXidTest : public ::testing::Test {
 protected:
  FirstXidTest() {
    record_ = {
        .system_id = "7301",
        .timeline = 1,
        .frontier = Lsn(500),
        .horizons = {{.xid = 700, .insert_lsn = Lsn(200)}, {.xid = 800, .insert_lsn = Lsn(300)}}};
    server_ = {.system_id = "7301", .timeline = 1, .wal_end = Lsn(1000)};
  }

  std::optional<uint64_t> After(uint64_t lsn) const {
    return FirstXidAfter(record_, server_, Lsn(lsn));
  }

  Progress record_;
  ServerInfo server_;
};

TEST_F(FirstXidTest, IsThatOfTheNewestHorizonUpToThePosition) {
  EXPECT_THAT(After(200), Optional(700U));
  EXPECT_THAT(After(299), Optional(700U));
  EXPECT_THAT(After(300), Optional(800U));
  EXPECT_THAT(After(900), Optional(800U));
}

TEST_F(FirstXidTest, IsUnknownBeforeTheOldestHorizon) {
  EXPECT_THAT(After(199), Eq(std::nullopt));
}

TEST_F(FirstXidTest, HorizonsBehindAForkDoNotCount) {
  server_.timeline = 2;
  server_.ancestors = {{1, Lsn(299)}};
  EXPECT_THAT(After(900), Optional(700U));
}

TEST_F(FirstXidTest, IsUnknownOnAnotherHistory) {
  server_.wal_end = Lsn(499);
  EXPECT_THAT(After(400), Eq(std::nullopt)) << "restored";
  server_ = {.system_id = "7302", .timeline = 1, .wal_end = Lsn(1000)};
  EXPECT_THAT(After(400), Eq(std::nullopt)) << "another system";
}

}  // namespace
}  // namespace walrelay
