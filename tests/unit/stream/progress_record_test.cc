#include "stream/progress_record.h"

#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "walrelay/config.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

class ProgressRecordTest : public ::testing::Test {
 protected:
  ProgressRecordTest() {
    info_.server = {.system_id = "7301",
                    .timeline = 2,
                    .ancestors = {{1, Lsn(50)}},
                    .wal_end = Lsn(1000),
                    .database = "shop"};
    info_.slot = SlotInfo{.confirmed_flush_lsn = Lsn(500)};
  }

  ServerInfo Renamed(std::string name) const {
    ServerInfo server = info_.server;
    server.database = std::move(name);
    return server;
  }

  Config config_;
  SourceInfo info_;
};

TEST_F(ProgressRecordTest, TheIdIsDatabaseAndSlot) {
  EXPECT_EQ(PipelineIdOf(config_.source, config_.pipeline, "shop"), "shop.walrelay");
  EXPECT_THAT(ProgressAddressOf(config_.source, config_.pipeline, config_.progress_topic(), "shop"),
              IsOkAndHolds(ProgressAddress{"walrelay.progress.shop.walrelay", "shop.walrelay"}));
  config_.pipeline.id = "orders";
  EXPECT_EQ(PipelineIdOf(config_.source, config_.pipeline, "shop"), "orders");
  EXPECT_THAT(ProgressAddressOf(config_.source, config_.pipeline, config_.progress_topic(), "shop"),
              IsOkAndHolds(ProgressAddress{"walrelay.progress.orders", "orders"}));
  config_.kafka.progress_topic = "mine";
  EXPECT_THAT(ProgressAddressOf(config_.source, config_.pipeline, config_.progress_topic(), "shop"),
              IsOkAndHolds(ProgressAddress{"mine", "orders"}));
}

TEST_F(ProgressRecordTest, ADatabaseWhoseNameIsNotLegalInATopic) {
  EXPECT_THAT(
      ProgressAddressOf(config_.source, config_.pipeline, config_.progress_topic(), "my shop")
          .status(),
      HasError(ErrorCode::kConfigValue));
  EXPECT_THAT(ProgressAddressOf(config_.source, config_.pipeline, config_.progress_topic(),
                                std::string(230, 'a'))
                  .status(),
              HasError(ErrorCode::kConfigValue));
  config_.pipeline.id = "orders";
  EXPECT_THAT(
      ProgressAddressOf(config_.source, config_.pipeline, config_.progress_topic(), "my shop"),
      IsOkAndHolds(ProgressAddress{"walrelay.progress.orders", "orders"}));
}

TEST_F(ProgressRecordTest, TheOwnerIsPipelineDatabaseAndSlot) {
  const Progress own = ProgressFrom(config_.source, config_.pipeline, info_);
  EXPECT_THAT(CheckOwner(own, config_.source, config_.pipeline, info_.server), IsOk());
  config_.pipeline.id = "shop.walrelay";
  EXPECT_THAT(CheckOwner(own, config_.source, config_.pipeline, info_.server), IsOk());
  EXPECT_THAT(CheckOwner(own, config_.source, config_.pipeline, Renamed("mart")),
              HasError(ErrorCode::kProgressForeign));
  config_.source.slot = "other";
  EXPECT_THAT(CheckOwner(own, config_.source, config_.pipeline, info_.server),
              HasError(ErrorCode::kProgressForeign));
  config_ = Config();
  config_.pipeline.id = "orders";
  EXPECT_THAT(CheckOwner(own, config_.source, config_.pipeline, info_.server),
              HasError(ErrorCode::kProgressForeign));
}

TEST_F(ProgressRecordTest, AnotherServersPipelineThatRunsIsNamed) {
  info_.server.now = WallTime(std::chrono::hours(1));
  Progress record = ProgressFrom(config_.source, config_.pipeline, info_);
  record.run_id = "0011";
  record.written = info_.server.now - std::chrono::seconds(29);
  EXPECT_THAT(CheckUnused(record, info_.server, "4711"), IsOk());
  ServerInfo another = info_.server;
  another.system_id = "7302";
  EXPECT_THAT(CheckUnused(record, another, "4711"),
              HasError(ErrorCode::kProgressInUse, "run 0011 has written it 29 s ago"));
  EXPECT_THAT(CheckUnused(record, another, "0011"), IsOk());
  record.written = info_.server.now + std::chrono::seconds(29);  // by another clock
  EXPECT_THAT(CheckUnused(record, another, "4711"), HasError(ErrorCode::kProgressInUse));
  for (const auto age : {std::chrono::seconds(30), std::chrono::seconds(-30)}) {
    record.written = info_.server.now - age;
    EXPECT_THAT(CheckUnused(record, another, "4711"), IsOk());
  }
  record.written = info_.server.now;
  record.run_id.clear();  // an operator has written it
  EXPECT_THAT(CheckUnused(record, another, "4711"), IsOk());
}

TEST_F(ProgressRecordTest, ARenamedDatabaseIsNamed) {
  info_.server.database_oid = 16'384;
  const Progress own = ProgressFrom(config_.source, config_.pipeline, info_);
  const absl::Status owner = CheckOwner(own, config_.source, config_.pipeline, Renamed("mart"));
  EXPECT_THAT(owner, HasError(ErrorCode::kProgressForeign, "shop was renamed to mart"));
  EXPECT_NE(RemedyFor(owner).find("pipeline.id = \"shop.walrelay\""), std::string::npos);
  EXPECT_TRUE(IsOfSlot(own, config_.source, Renamed("mart")));
  config_.pipeline.id = "shop.walrelay";
  EXPECT_THAT(CheckOwner(own, config_.source, config_.pipeline, Renamed("mart")), IsOk());
  ServerInfo another = Renamed("mart");
  another.database_oid = 5;
  EXPECT_THAT(CheckOwner(own, config_.source, config_.pipeline, another),
              HasError(ErrorCode::kProgressForeign));
  EXPECT_FALSE(IsOfSlot(own, config_.source, another));
}

// A row is the same whatever the settings are.
TEST_F(ProgressRecordTest, OtherSettingsContinueInsideATransaction) {
  Progress record = ProgressFrom(config_.source, config_.pipeline, info_);
  record.partial = {
      .transaction = {.commit_lsn = Lsn(550), .xid = 8}, .row_lsn = Lsn(520), .row_index = 3};
  config_.source.publication = "other";
  config_.source.message_prefixes = {"outbox"};
  EXPECT_THAT(CheckOwner(record, config_.source, config_.pipeline, info_.server), IsOk());
}

TEST_F(ProgressRecordTest, WhatARelayRemembers) {
  Progress record = ProgressFrom(config_.source, config_.pipeline, info_);
  record.last = {.commit_lsn = Lsn(450), .xid = 7, .commit_time = WallTime(Micros(1))};
  record.partial = {
      .transaction = {.commit_lsn = Lsn(550), .xid = 8}, .row_lsn = Lsn(520), .row_index = 3};
  const ResumeState memory = ResumeStateOf(record);
  EXPECT_EQ(memory.system_id, "7301");
  EXPECT_EQ(memory.timeline, 2u);
  ASSERT_EQ(memory.ancestors.size(), 1u);
  EXPECT_EQ(memory.frontier, Lsn(500));
  EXPECT_EQ(memory.last_published, record.last);
  ASSERT_NE(memory.record(), nullptr);
  EXPECT_EQ(memory.partial, record.partial);
  EXPECT_FALSE(memory.slot_was_taken);
}

}  // namespace
}  // namespace walrelay
