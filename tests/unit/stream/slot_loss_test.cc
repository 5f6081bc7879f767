#include "stream/slot_loss.h"

#include <gmock/gmock.h>

#include "fakes/status_matchers.h"
#include "walrelay/error.h"

namespace walrelay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Remedy(std::string reason) {
  const absl::Status error =
      SlotLostError({.wal_status = "lost", .invalidation_reason = std::move(reason)}, "lost");
  EXPECT_THAT(error, HasError(ErrorCode::kSlotLost, "lost"));
  return RemedyFor(error);
}

TEST(SlotLossTest, RemedyNamesTheSettingThatHasInvalidatedTheSlot) {
  for (const char* reason : {"", "wal_removed"}) {
    EXPECT_THAT(Remedy(reason), HasSubstr("max_slot_wal_keep_size"));
  }
  for (const auto& [reason, setting] :
       {std::pair("idle_timeout", "idle_replication_slot_timeout = 0"),
        std::pair("rows_removed", "hot_standby_feedback"),
        std::pair("wal_level_insufficient", "wal_level = 'logical'")}) {
    EXPECT_THAT(Remedy(reason), HasSubstr(setting));
    EXPECT_THAT(Remedy(reason), Not(HasSubstr("max_slot_wal_keep_size")));
  }
}

TEST(SlotLossTest, UnknownReasonIsNotGuessedAt) {
  EXPECT_THAT(Remedy("something_new"), Not(HasSubstr("max_slot_wal_keep_size")));
  EXPECT_THAT(Remedy("something_new"), HasSubstr("walrelay recover"));
}

}  // namespace
}  // namespace walrelay
