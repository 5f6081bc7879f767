#include "recover/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/status_matchers.h"
#include "plan_samples.h"
#include "walrelay/config.h"

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;

// All seams at once: `steps` is the order in which they were used to change anything.
class FakeWorld final : public RecoverySource,
                        public RecoveryRows,
                        public RecoveryProgress,
                        public TopicTails {
 public:
  absl::StatusOr<RecoverEvidence> ReadEvidence() override { return evidence; }
  absl::StatusOr<NewSlot> CreateSlot() override { return Step("slot", slot); }
  absl::Status ReplaceSlot(bool /*failover*/) override { return Step("replace", 0).status(); }
  absl::Status EnableFailover() override { return Step("failover", 0).status(); }

  absl::StatusOr<uint64_t> CountBefore(uint64_t xid) override {
    counted_before = xid;
    return older_rows;
  }
  absl::StatusOr<RecoveredRows> Count(const RowsToRecover& /*rows*/,
                                      const Filter& filter) override {
    return Pass(filter);
  }
  absl::StatusOr<RecoveredRows> Publish(const RowsToRecover& /*rows*/, const std::string& snapshot,
                                        std::string_view plan, const Filter& filter) override {
    published_in = snapshot;
    published_for = plan;
    WR_ASSIGN_OR_RETURN(const int done, Step("rows", 0));
    (void)done;
    return Pass(filter);
  }

  absl::StatusOr<std::optional<Progress>> Read(const std::string& /*database*/) override {
    return evidence.record;
  }
  absl::Status Write(const Progress& record) override {
    written = record;
    return Step("record", 0).status();
  }

  absl::StatusOr<std::string> Read(const std::string& /*topic*/, std::optional<WallTime> /*since*/,
                                   const OnRecord& on_record) override {
    for (const std::string& id : in_kafka) {
      WR_RETURN_IF_ERROR(on_record("k", "v", id));
    }
    return "";
  }

  RecoverEvidence evidence = testing::SampleEvidence();
  NewSlot slot = testing::SampleSlot();
  std::vector<std::string> ids;       // of the rows
  std::vector<std::string> in_kafka;  // of them, those that the topic has
  uint64_t older_rows = 0;
  std::string fails_at;

  uint64_t counted_before = 0;
  std::vector<std::string> steps;
  std::vector<std::string> sent;  // ids
  std::string published_in;
  std::string published_for;
  std::optional<Progress> written;

 private:
  template <typename Value>
  absl::StatusOr<Value> Step(const std::string& name, Value value) {
    if (name == fails_at) {
      return Error(ErrorCode::kKafkaUnreachable, name);
    }
    steps.push_back(name);
    return value;
  }
  absl::StatusOr<RecoveredRows> Pass(const Filter& filter) {
    RecoveredRows rows;
    sent.clear();
    for (const std::string& id : ids) {
      const Header header{"id", id};
      WR_ASSIGN_OR_RETURN(
          const bool missing,
          filter({.topic = "t", .key = "k", .value = "v", .headers = {&header, 1}}));
      ++rows.rows;
      ++(missing ? rows.published : rows.found);
      if (missing) {
        sent.push_back(id);
      }
    }
    return rows;
  }
};

class RecoveryTest : public ::testing::Test {
 protected:
  RecoveryTest() { world_.ids = {"1", "2", "3"}; }

  RecoverPlan Plan() {
    const auto plan = recovery_.Plan();
    EXPECT_THAT(plan, IsOk());
    return plan.ok() && *plan ? **plan : RecoverPlan();
  }

  Config config_ = testing::SampleConfig();
  FakeWorld world_;
  Recovery recovery_{{.source_config = config_.source,
                      .pipeline_config = config_.pipeline,
                      .prune_config = config_.prune,
                      .source = world_,
                      .rows = world_,
                      .progress = world_,
                      .tails = world_},
                     RecoverOptions()};
};

TEST_F(RecoveryTest, APlanChangesNothing) {
  world_.in_kafka = {"1"};
  const RecoverPlan plan = Plan();
  EXPECT_EQ(plan.rows.rows, 3u);
  EXPECT_EQ(plan.rows.found, 1u);
  EXPECT_EQ(plan.rows.published, 2u);
  EXPECT_TRUE(IsCoveredBy(plan, plan.id));
  EXPECT_THAT(world_.steps, IsEmpty());
}

TEST_F(RecoveryTest, ThereIsNoPlanForASlotThatWorks) {
  world_.evidence.info.slot->wal_status = "reserved";
  EXPECT_THAT(recovery_.Plan(), IsOk());
  EXPECT_EQ(*recovery_.Plan(), std::nullopt);
}

TEST_F(RecoveryTest, OlderRowsOfASlotThatWorksAreCounted) {
  world_.evidence.info.slot->wal_status = "reserved";
  world_.older_rows = 7;
  EXPECT_THAT(recovery_.Plan(), IsOk());
  EXPECT_EQ(world_.counted_before, 500u);
  EXPECT_EQ(recovery_.unproven_rows(), 7u);
  world_.evidence.record.reset();
  world_.evidence.slot_from_xid = 1500;
  EXPECT_THAT(recovery_.Plan(), HasError(ErrorCode::kRecoveryUnproven, "7 older rows"));
  EXPECT_EQ(world_.counted_before, 1500u);
  world_.older_rows = 0;
  EXPECT_THAT(recovery_.Plan(), IsOkAndHolds(Eq(std::nullopt)));
}

TEST_F(RecoveryTest, ASlotThatIsKeptIsNotReplaced) {
  world_.evidence.info.slot->wal_status = "reserved";
  RecoverOptions options;
  options.rows.since = RowsSince::kAll;
  Recovery chosen({.source_config = config_.source,
                   .pipeline_config = config_.pipeline,
                   .prune_config = config_.prune,
                   .source = world_,
                   .rows = world_,
                   .progress = world_,
                   .tails = world_},
                  options);
  auto plan = chosen.Plan();
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(chosen.Apply(**plan), IsOk());
  EXPECT_THAT(world_.steps, ElementsAre("slot", "rows"));
  EXPECT_EQ(world_.published_in, world_.slot.snapshot);
  world_.steps.clear();
  world_.evidence.record->held =
      HeldGap{.code = ErrorCode::kPublicationChanged, .id = "x", .reason = "changed"};
  plan = chosen.Plan();
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(chosen.Apply(**plan), IsOk());
  EXPECT_THAT(world_.steps, ElementsAre("slot", "rows", "record"));
  EXPECT_EQ(world_.written->frontier, world_.evidence.info.slot->confirmed_flush_lsn);
  EXPECT_EQ(world_.written->held, std::nullopt);
}

TEST_F(RecoveryTest, ASlotThatWorksCanBecomeAFailoverSlot) {
  world_.evidence.info.slot->wal_status = "reserved";
  world_.evidence.info.server.version = 160009;
  EXPECT_THAT(recovery_.Plan(), IsOk());
  EXPECT_FALSE(recovery_.lacks_failover());
  world_.evidence.info.server.version = 170000;
  EXPECT_THAT(recovery_.Plan(), IsOk());
  ASSERT_TRUE(recovery_.lacks_failover());
  EXPECT_THAT(recovery_.EnableFailover(), IsOk());
  EXPECT_THAT(world_.steps, ElementsAre("failover"));
  world_.evidence.info.slot->failover = true;
  EXPECT_THAT(recovery_.Plan(), IsOk());
  EXPECT_FALSE(recovery_.lacks_failover());
}

// Kills the mutants SnapshotBeforeSlot and SlotVisibleBeforeAcks: rows are read as of the new
// slot's snapshot, and the slot becomes the pipeline's when they are acknowledged and recorded.
TEST_F(RecoveryTest, SlotThenRowsThenRecordThenReplacement) {
  const RecoverPlan plan = Plan();
  EXPECT_THAT(recovery_.Apply(plan), IsOk());
  EXPECT_THAT(world_.steps, ElementsAre("slot", "rows", "record", "replace"));
  EXPECT_EQ(world_.published_in, world_.slot.snapshot);
  EXPECT_EQ(world_.published_for, plan.id);
  ASSERT_TRUE(world_.written.has_value());
  EXPECT_EQ(world_.written->frontier, world_.slot.position);
}

TEST_F(RecoveryTest, WhatTheTopicsHaveIsNotPublishedAgain) {
  world_.in_kafka = {"2"};
  const RecoverPlan plan = Plan();
  EXPECT_THAT(recovery_.Apply(plan), IsOk());
  EXPECT_THAT(world_.sent, ElementsAre("1", "3"));
}

TEST_F(RecoveryTest, AStepThatFailsIsTheLast) {
  const RecoverPlan plan = Plan();
  for (const char* step : {"slot", "rows", "record", "replace"}) {
    world_.steps.clear();
    world_.fails_at = step;
    EXPECT_THAT(recovery_.Apply(plan), HasError(ErrorCode::kKafkaUnreachable, step));
    EXPECT_THAT(world_.steps, ::testing::Not(::testing::Contains("replace")));
    if (world_.fails_at == "rows") {
      EXPECT_THAT(world_.steps, ElementsAre("slot"));
    }
  }
}

TEST_F(RecoveryTest, APlanIsForOneServer) {
  const RecoverPlan plan = Plan();
  world_.slot.timeline = 2;
  EXPECT_THAT(recovery_.Apply(plan), HasError(ErrorCode::kSystemChanged));
  EXPECT_THAT(world_.steps, ElementsAre("slot"));
}

}  // namespace
}  // namespace walrelay
