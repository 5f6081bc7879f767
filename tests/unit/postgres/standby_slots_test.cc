#include "postgres/standby_slots.h"

#include <gmock/gmock.h>

namespace walrelay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<StandbySlot> kSlots = {
    {.name = "current", .active = true, .restart_lsn = Lsn(1000)},
    {.name = "behind", .active = true, .restart_lsn = Lsn(400)},
    {.name = "silent", .restart_lsn = Lsn(1000)},
    {.name = "lost", .active = true, .invalidated = true, .restart_lsn = Lsn(1000)},
    {.name = "logical", .logical = true, .active = true, .restart_lsn = Lsn(1000)}};

std::vector<AwaitedStandby> Awaited(std::string_view setting) {
  return AwaitedStandbys(setting, kSlots, Lsn(1000));
}

TEST(StandbySlotsTest, NamesEachSlotThatAWalsenderWaitsFor) {
  EXPECT_THAT(Awaited("current, behind,silent , lost,logical,gone"),
              ElementsAre(AwaitedStandby{"behind", "is 600 B behind"},
                          AwaitedStandby{"silent", "has no reader: the standby is not connected"},
                          AwaitedStandby{"lost", "is invalidated"},
                          AwaitedStandby{"logical", "is a logical slot, which no standby reads"},
                          AwaitedStandby{"gone", "does not exist"}));
}

TEST(StandbySlotsTest, ReadsNamesAsPostgresDoes) {
  EXPECT_THAT(Awaited("\"gone\""), ElementsAre(AwaitedStandby{"gone", "does not exist"}));
  EXPECT_THAT(Awaited("Current,\n CURRENT"), IsEmpty());
  EXPECT_THAT(Awaited(""), IsEmpty());
  EXPECT_THAT(Awaited(" , ,"), IsEmpty());
}

}  // namespace
}  // namespace walrelay
