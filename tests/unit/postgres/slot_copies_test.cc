#include "postgres/slot_copies.h"

#include <gmock/gmock.h>

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

StandbyFacts Healthy() {
  return {.sync_replication_slots = true,
          .hot_standby_feedback = true,
          .primary_slot_name = "east",
          .conninfo_has_database = true,
          .slot = SlotInfo{.wal_status = "reserved", .synced = true, .failover = true}};
}

std::string Problems(const StandbyFacts& standby) {
  std::string text;
  for (const SlotCopyProblem& problem : ProblemsOf(standby, "orders")) {
    EXPECT_FALSE(problem.remedy.empty());
    text += problem.text + "\n";
  }
  return text;
}

TEST(SlotCopiesTest, SynchronizedCopySurvivesAFailover) {
  EXPECT_THAT(Problems(Healthy()), IsEmpty());
  StandbyFacts hidden = Healthy();
  hidden.conninfo_has_database.reset();
  EXPECT_THAT(Problems(hidden), IsEmpty());
}

TEST(SlotCopiesTest, EachSettingThatSynchronizationNeedsIsNamed) {
  const std::string text = Problems(StandbyFacts{.conninfo_has_database = false});
  for (const char* word : {"sync_replication_slots is off", "hot_standby_feedback is off",
                           "primary_slot_name is empty", "primary_conninfo has no dbname",
                           "slot orders is not there"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
}

TEST(SlotCopiesTest, OwnSlotOfADemotedServerBlocksTheCopy) {
  StandbyFacts demoted = Healthy();
  demoted.slot->synced = false;
  ASSERT_EQ(ProblemsOf(demoted, "orders").size(), 1u);
  EXPECT_THAT(ProblemsOf(demoted, "orders")[0].text, HasSubstr("the standby's own"));
  EXPECT_EQ(ProblemsOf(demoted, "orders")[0].remedy, "SELECT pg_drop_replication_slot('orders');");
}

TEST(SlotCopiesTest, TemporaryOrInvalidatedCopyDoesNotSurvive) {
  StandbyFacts standby = Healthy();
  standby.slot->temporary = true;
  EXPECT_THAT(Problems(standby), HasSubstr("temporary"));
  standby = Healthy();
  standby.slot->invalidation_reason = "rows_removed";
  EXPECT_THAT(Problems(standby), HasSubstr("invalidated"));
}

}  // namespace
}  // namespace walrelay
