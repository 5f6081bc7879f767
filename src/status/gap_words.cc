#include "status/gap_words.h"

#include "walrelay/error.h"

namespace walrelay {
namespace {

// Nothing can be published from this slot: only a new one continues.
bool IsOfALostSlot(const Gap& gap) {
  return HasCode(gap.error, ErrorCode::kSlotLost) || HasCode(gap.error, ErrorCode::kSlotGone) ||
         HasCode(gap.error, ErrorCode::kSlotDropped) ||
         HasCode(gap.error, ErrorCode::kSlotAheadOfLog);
}

}  // namespace

std::string_view NextStepOf(const Gap& gap) {
  return IsOfALostSlot(gap)
             ? "walrelay recover shows what is missing; it publishes that and replaces the slot, "
               "then restart walrelay. (walrelay resume --accept-gap gives the missing events up.)"
             : "walrelay resume shows what may be missing, and what to do first; walrelay resume "
               "--accept-gap then continues.";
}

}  // namespace walrelay
